"""Whether Python's own parser takes a file: the grammar of tree-sitter refuses some valid Python."""

import ast
import warnings


def is_valid(content: bytes) -> bool:
    """Whether the file is Python. Give it no more than `reading.FILE_BYTES`: a tree takes many times a file's size.

    A file too deeply nested for the parser counts as not valid.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
