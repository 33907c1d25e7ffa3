"""Read the API key of a model server, or GitHub's token, from a file: other users can see command lines and environments."""

from pathlib import Path

from model.errors import BadEngine


def read_key(path: Path, what: str = "API key") -> str:
    """Read a key or a token from a file, without its line end. Raises BadEngine, never with the key in it.

    `what` names it in messages.
    """
    try:
        key = path.read_text(encoding="ascii").strip()
    except OSError as error:
        raise BadEngine(f"{what} file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError:
        key = ""
    if not key.isprintable() or len(key.split()) != 1:
        raise BadEngine(f"{what} file {path} holds no key; write the key alone, on one line")
    return key
