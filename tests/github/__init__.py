"""The stand-in for GitHub: a stateful server with REST, GraphQL, git and webhooks. Tests stand beside its rooms."""
