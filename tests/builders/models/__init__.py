"""Tiny language models that run on one core, and the runs that train them."""
