"""Small values and text functions without I/O: identifiers, permission, quoting, Markdown prose, globs.
May call: no other room.
"""
