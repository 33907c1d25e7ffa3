"""GitHub's REST API and git over HTTP: routing, permissions, limits, one handler per operation."""
