"""Read the API key of a model server, or GitHub's token, from a file: other users can see command lines and environments."""

from pathlib import Path

from model.errors import BadEngine


def read_key(path: Path, what: str = "API key") -> str:
    """Read a key or a token from a file, without its line end. Raises BadEngine, never with the key in it.

    `what` names it in messages.
    """
    try:
        key = path.read_text(encoding="ascii")
    except OSError as error:
        raise BadEngine(f"{what} file {path} can't be read: {error.strerror}") from error
    except UnicodeDecodeError:
        key = ""
    return check_key(key, f"{what} file {path}", what)


def check_key(text: str, place: str, what: str = "API key") -> str:
    """Return the key or the token in `text`, without white space around it. Raises BadEngine, never with the key in it.

    A key is one word of ASCII, because it travels in an HTTP header. `place` and `what` name it in messages.
    """
    key = text.strip()
    if not (key.isascii() and key.isprintable()) or len(key.split()) != 1:
        raise BadEngine(f"{place} holds no {what}; write the {what} alone, on one line")
    return key
