"""Small values and text functions without I/O: identifiers, permission, quoting, Markdown prose, text matching.
In: text and numbers. Out: typed identifiers, escaped text, matches.
May call: no other room.
"""
