"""A stateful stand-in for GitHub, in its own process: REST, GraphQL, git and webhooks."""
