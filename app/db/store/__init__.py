"""The only queries: rows in, frozen values out, one module a subject."""
