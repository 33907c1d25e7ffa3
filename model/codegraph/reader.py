"""A process that reads files for the index and knows nothing else: no secret, no file, no database.

`python -I -m model.codegraph.reader FD`: batches of (language, content) come in over a socket, the
reading of each goes back, as JSON: a file that takes this process over shall find nothing that its asker would run.
It ends when the other side does.
"""

import json
import resource
import sys
from multiprocessing.connection import Connection

from model.codegraph.reading import read

READY = b"ready"
"""The first thing that is said."""
_MEMORY = 1024**3
"""Of addresses. What needs more ends this process, not the one that asked."""


def main(descriptor: int) -> None:
    """Read batches until the other side closes the socket."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with Connection(descriptor) as asker:
        asker.send_bytes(READY)
        while True:
            try:
                batch = asker.recv()
            except (EOFError, ConnectionResetError):
                return
            readings = [read(language, content) for language, content in batch]
            asker.send_bytes(json.dumps(readings).encode())


if __name__ == "__main__":
    main(int(sys.argv[1]))
