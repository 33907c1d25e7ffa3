"""A child process that parses files for the index. It holds no secret and opens no file or database.

Start it by `python -I -m model.codegraph.reader_process FD`. Batches of (language, content) arrive over a socket
with a limit of CPU seconds. Results return as JSON, never as pickle: a hostile file may take over this process, and
its parent must not run what it sends. The process exits with its parent, or by SIGXCPU over the limit.
"""

import gc
import json
import resource
import sys
import time
from contextlib import suppress
from math import ceil
from multiprocessing.connection import Connection

from model.codegraph.definition_reader import read_definitions

READY = b"ready"
"""The first message to the parent."""
_MEMORY = 1024**3
"""Limit of the address space. A file that needs more ends this process, not its parent."""


def main(descriptor: int) -> None:
    """Parse batches of source files from a socket until the parent closes it. `descriptor` is the socket's number."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # no object here refers to itself, so counting references frees everything
    with Connection(descriptor) as asker, suppress(EOFError, ConnectionError, MemoryError):
        asker.send_bytes(READY)
        while True:
            seconds, batch = asker.recv()
            _allow(seconds)
            readings = [read_definitions(language, content) for language, content in batch]
            asker.send_bytes(json.dumps(readings).encode())


def _allow(seconds: float) -> None:
    """Allow that many more CPU seconds, rounded up: the kernel counts whole seconds."""
    most = ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(int(sys.argv[1]))
