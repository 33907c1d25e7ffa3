"""A maintainer's tool that regenerates the stored schemas from GitHub's packages."""
