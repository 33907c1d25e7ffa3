"""The process that reads the touched definitions of a base. It holds no secret, and nothing of the tree runs.

Start it by `python -I -m model.agents.process.code_process PROCESSES` in a sandbox. It reads one `CodeTask` as a JSON line
from stdin, and writes one `TouchedCode` as a JSON line to stdout.
"""

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from model import typed_json
from model.agents import attempt_setup
from model.agents.tools import touched_code
from model.errors import ModelError
from model.patches.edits import read_edit
from model.sandbox import limits
from model.sandbox.limits import ResourceLimits

MOST_CHARACTERS: Final = 200_000
"""Characters of all definitions together. No engine here has a context that a quarter of them does not fill."""
_LIMITS: Final = ResourceLimits(memory_bytes=2 * 1024**3, file_bytes=256 * 1024**2, cpu_seconds=60)


@dataclass(frozen=True, slots=True)
class CodeTask:
    """The patches of a group, and the tree that they are for."""

    tree: str
    """Path of the source tree."""
    scratch: str
    """An empty folder for the code graph."""
    diffs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TouchedCode:
    """The definitions of a base that patches touch, the most touched first; or why nobody knows them."""

    definitions: tuple[str, ...] = ()
    missing: str | None = None


def read_touched_code(tree: Path, scratch: Path, diffs: Sequence[str]) -> tuple[str, ...]:
    """Read the definitions of the source tree `tree` that `diffs` touch. Only the touched files are parsed.

    `scratch` is a folder for the code graph. Raises ModelError and OSError for a tree that cannot be read.
    """
    paths = {path for diff in diffs for path, _ in read_edit(diff).functions}
    index = scratch / "index.sqlite"
    with (
        attempt_setup.open_tool_contexts(tree, index, only=paths) as open_context,
        open_context() as context,
    ):
        definitions = touched_code.list_touched_code(context, diffs)
        return touched_code.select_fitting(definitions, MOST_CHARACTERS)


def main() -> None:
    """Limit this process, answer one task and exit. Stray prints go to stderr."""
    limits.set_limits(replace(_LIMITS, processes=int(sys.argv[1])))
    outgoing = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    task = typed_json.read(CodeTask, json.loads(sys.stdin.readline()))
    tempfile.tempdir = task.scratch
    try:
        answer = TouchedCode(read_touched_code(Path(task.tree), Path(task.scratch), task.diffs))
    except (ModelError, OSError) as error:
        answer = TouchedCode(missing=f"{type(error).__name__}: {error}")
    print(json.dumps(asdict(answer)), file=outgoing, flush=True)


if __name__ == "__main__":
    main()
