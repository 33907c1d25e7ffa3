"""The records as GitHub's REST objects."""
