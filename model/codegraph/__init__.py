"""The code graph: every class, function and method of a source tree, found by name, for every commit of a repository."""
