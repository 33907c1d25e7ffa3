"""Everything that talks to GitHub's API."""
