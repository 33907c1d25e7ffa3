"""A folder is there whole or not at all, whatever ends its writer."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def appearing(directory: Path) -> Iterator[Path]:
    """A folder to write in, which becomes `directory` when the block ends well, and is deleted when it doesn't."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as room:
        made = Path(room, directory.name)
        made.mkdir()
        yield made
        made.rename(directory)
