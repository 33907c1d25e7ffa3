"""The control port, by which tests act as people, and its client."""
