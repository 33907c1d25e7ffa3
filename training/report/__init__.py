"""A run's folder in, a page with its curves, its data and its gate out."""
