"""Everything that talks SQL."""
