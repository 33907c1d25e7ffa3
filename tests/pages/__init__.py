"""The documentation: the site is whole, and the commands that its first pages show work."""
