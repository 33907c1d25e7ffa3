"""Real bare repositories, and what git says changed between two commits."""
