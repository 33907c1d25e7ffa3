"""Our index of a tree's Python files, once, in a process of its own: `indexing.py DIR DATABASE [LOOK-UPS]`.

Prints what it took, the largest process in MB and the times of look-ups in ms. Imports are not timed.
"""

import json
import random
import resource
import sys
import time
from pathlib import Path

from model.codegraph.entities import Construct
from model.codegraph.index import open_index
from model.codegraph.sources import survey


def main(directory: str, database: str, lookups: str = "0") -> None:
    """Open, list, read what is new, look names up."""
    started = time.perf_counter()
    with open_index(Path(database)) as index:
        tree = survey(Path(directory))
        blobs = {path: blob for path, blob in tree.blobs.items() if path.endswith(".py")}
        snapshot, report = index.snapshot(blobs, tree.read)
        seconds = time.perf_counter() - started
        peaks = [resource.getrusage(who).ru_maxrss for who in (0, -1)]
        times = list(_lookups(snapshot, Path(directory), int(lookups)))
    found = {
        "seconds": seconds,
        "entities": report.entities,
        "files": report.files,
        "parsed": report.parsed,
        "skipped": len(tree.skipped) + len(report.skipped),
        "mb": max(peaks) / 1000,
        "lookups": times,
    }
    print(json.dumps(found))


def _lookups(snapshot, directory, count):
    """One for each of so many distinct names, drawn by chance: all entities, each with its source."""
    names = [(construct, name) for construct in Construct for name in _names(snapshot, construct)]
    for construct, name in random.Random(0).sample(names, min(count, len(names))):
        started = time.perf_counter()
        contents = {}
        for entity in snapshot.find(construct, name):
            if entity.path not in contents:
                contents[entity.path] = (directory / entity.path).read_bytes()
            entity.source(contents[entity.path])
        yield 1000 * (time.perf_counter() - started)


def _names(snapshot, construct):
    return snapshot._names.get(construct.value, [])


if __name__ == "__main__":
    main(*sys.argv[1:])
