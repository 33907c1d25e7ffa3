"""Wrong candidates and minimal patches: parts of a true patch, mutants of it, and other commits' edits.
In: the changes of a true patch, and a function that runs its tests. Out: candidates, and the smallest part that passes.
May call: model.
"""
