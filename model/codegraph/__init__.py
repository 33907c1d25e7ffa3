"""The code graph finds every class, function and method of a source tree by name.
In: a directory or a commit. Out: a snapshot to search. SQLite stores definitions by blob hash.
May call: patches.git.
"""
