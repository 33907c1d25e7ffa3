"""GitHub's GraphQL API on its real schema."""
