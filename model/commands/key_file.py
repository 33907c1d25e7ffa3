"""A model server's API key, which comes from a file: command lines and environments are for others to read."""

from pathlib import Path

from model.errors import BadEngine


def read(path: Path) -> str:
    """The key without the line's end. Raises BadEngine, which tells what is wrong without a word of the key."""
    try:
        key = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise BadEngine(f"API key file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError:
        key = ""
    if not key.isprintable() or len(key.split()) != 1:
        raise BadEngine(f"API key file {path} holds no key; write the key alone, on one line")
    return key
