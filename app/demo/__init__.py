"""The demo: a stand-in for GitHub in its own process, and the story played on it."""
