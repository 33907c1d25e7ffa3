"""Whether an edit breaks a file's syntax, by the parser of its language."""


def check(path: str, before: bytes, after: bytes) -> str | None:
    """The parser's message when the edit brings in an error; None: it doesn't, or no grammar is here."""
    raise NotImplementedError
