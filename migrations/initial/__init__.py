"""The tables of the initial revision, one module a subject. `migrations/versions/0001_initial.py` calls them."""
