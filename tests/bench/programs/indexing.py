"""Our index of a tree's Python files, once, in a process of its own: `indexing.py DIR DATABASE [LOOK-UPS]`.

Prints what it took, the largest process in MB and the times of look-ups in ms. Imports are not timed.
"""

import json
import random
import resource
import sys
import time
from pathlib import Path

from model.agents.tools.search_tool import search
from model.agents.tools.tool_context import ToolContext
from model.codegraph.entities import EntityKind
from model.codegraph.index import open_index
from model.codegraph.source_tree import survey
from model.workspace import Workspace


def main(directory: str, database: str, lookups: str = "0") -> None:
    """Open, list, read what is new, look names up."""
    started = time.perf_counter()
    with open_index(Path(database)) as index:
        tree = survey(Path(directory))
        blobs = {path: blob for path, blob in tree.blobs.items() if path.endswith(".py")}
        snapshot, report = index.build_snapshot(blobs, tree.read)
        seconds = time.perf_counter() - started
        peak = max(_own_peak(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1000
        times = list(_lookups(snapshot, Path(directory), int(lookups)))
    found = {
        "seconds": seconds,
        "entities": report.entities,
        "files": report.files,
        "parsed": report.parsed,
        "skipped": len(tree.skipped) + len(report.skipped),
        "mb": peak,
        "lookups": times,
    }
    print(json.dumps(found))


def _own_peak():
    """In KB. The kernel's usage of a process that was just begun has what its parent was."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def _lookups(snapshot, directory, count):
    """One for each of so many distinct names, drawn by chance, by the agents' tool: the first page, with the source."""
    names = [(construct, name) for construct in EntityKind for name in _names(snapshot, construct)]
    with Workspace.open(directory) as workspace:
        desk = ToolContext(workspace, snapshot, tree="")
        for construct, name in random.Random(0).sample(names, min(count, len(names))):
            started = time.perf_counter()
            answer = search(desk, construct.value, name)
            yield 1000 * (time.perf_counter() - started)
            if not answer.ok:
                raise LookupError(answer.text)


def _names(snapshot, construct):
    return snapshot._names.get(construct.value, [])


if __name__ == "__main__":
    main(*sys.argv[1:])
