"""Create folders atomically: a folder exists complete or not at all."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def create_atomically(directory: Path) -> Iterator[Path]:
    """Yield an empty folder. It becomes `directory` when the block succeeds and is deleted when it raises."""
    directory.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{directory.name}-", dir=directory.parent) as scratch:
        folder = Path(scratch, directory.name)
        folder.mkdir()
        yield folder
        folder.rename(directory)
