"""Real bare repositories, and the changes between two commits."""
