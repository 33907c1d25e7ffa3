"""A process that reads files for the index and knows nothing else: no secret, no file, no database.

`python -I -m model.codegraph.reader_process FD`: batches of (language, content) come in over a socket, with the seconds of
computing they may take; the reading of each goes back, as JSON: a file that takes this process over shall find nothing that its
asker would run. It ends when the other side does, and by SIGXCPU where the files take longer.
"""

import gc
import json
import resource
import sys
import time
from contextlib import suppress
from math import ceil
from multiprocessing.connection import Connection

from model.codegraph.definition_reader import read

READY = b"ready"
"""The first thing that is said."""
_MEMORY = 1024**3
"""Of addresses. What needs more ends this process, not the one that asked."""


def main(descriptor: int) -> None:
    """Read batches until the other side closes the socket."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gc.disable()  # nothing that is made here refers to itself
    with Connection(descriptor) as asker, suppress(EOFError, ConnectionError, MemoryError):
        asker.send_bytes(READY)
        while True:
            seconds, batch = asker.recv()
            _allow(seconds)
            readings = [read(language, content) for language, content in batch]
            asker.send_bytes(json.dumps(readings).encode())


def _allow(seconds: float) -> None:
    """So much more computing, rounded up: the kernel counts whole seconds."""
    most = ceil(time.process_time() + seconds)
    resource.setrlimit(resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))


if __name__ == "__main__":
    main(int(sys.argv[1]))
