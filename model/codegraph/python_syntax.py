"""Check a file with Python's own parser: the tree-sitter grammar rejects some valid Python."""

import ast
import warnings


def is_valid_python(content: bytes) -> bool:
    """Return whether Python parses the file. A file that is nested too deeply counts as invalid.

    Limit the size by `FILE_BYTES`: a syntax tree takes many times the file's size.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            ast.parse(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True
