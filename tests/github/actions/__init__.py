"""Actions of people, Apps and CI on threads, pull requests, checks and installations."""
