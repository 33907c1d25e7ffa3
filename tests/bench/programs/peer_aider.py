"""aider's tags, as its repository map takes them; run by the Python that has it: `peer_aider.py DIR`.

Prints seconds and definitions. The tags are kept in DIR, so a second run is a warm one.
"""

import json
import sys
import time
from pathlib import Path

from aider.io import InputOutput
from aider.repomap import RepoMap


def main(directory: str) -> None:
    """Every Python file's tags."""
    started = time.perf_counter()
    graph = RepoMap(root=directory, io=InputOutput(yes=True), main_model=None)
    total = 0
    for path in Path(directory).rglob("*.py"):
        if path.is_file():
            tags = graph.get_tags(str(path), str(path.relative_to(directory))) or []
            total += sum(tag.kind == "def" for tag in tags)
    print(json.dumps({"seconds": time.perf_counter() - started, "entities": total}))


if __name__ == "__main__":
    main(sys.argv[1])
