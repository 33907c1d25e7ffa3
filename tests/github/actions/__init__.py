"""What people, Apps and CI do: threads, pull requests, checks, installations."""
