"""A maintainer's tool: regenerates the stored schemas from GitHub's published packages."""
