"""Reading diffs: ours, down to frozen values, beside unidiff, which both stand on; and our counts beside git's."""

import gzip
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path

from unidiff.patch import PatchSet

from model.errors import BadDiff
from model.patches import diff
from tests.bench.bench import Bench, NotMeasured, Subject
from tests.bench.support.measurements import Figure, Pairs, at_least, at_most

FILE = "swebench_patches.jsonl.gz"
LINES = 20_000
AT_ONCE = 100
"""Patches that one git reads."""


def measure(bench: Bench) -> list[Figure]:
    """All patches and one giant, ours and unidiff in turn; then every count beside git's."""
    if bench.data is None:
        raise NotMeasured(f"set R4P_DATA to the folder that holds {FILE}")
    patches = _patches(bench.data / FILE)
    if bench.scale.rounds == 1:
        patches = patches[::20]
    giant = _giant(LINES)
    speeds, giants = Pairs(), Pairs()
    for at in range(bench.scale.rounds):
        bench.step(f"round {at + 1}")
        every = [_seconds(read, patches) for read in (diff.parse, _unidiff)]
        speeds.add(*(len(patches) / seconds for seconds in every))
        giants.add(*(1000 * _seconds(read, [giant]) for read in (diff.parse, _unidiff)))
    bench.step("counting with git")
    failed, differing = _against_git(patches, bench.scratch)
    count = f"{len(patches):,} patches of real systems"
    return [
        Figure(
            "D1",
            f"{count}: diff text → frozen values",
            "patches/s",
            tuple(speeds.ours),
            "unidiff's own objects",
            tuple(speeds.beside),
            ratio_asked=at_least(0.5),
        ),
        Figure(
            "D2",
            f"one diff of {LINES:,} lines",
            "ms",
            tuple(giants.ours),
            "unidiff's own objects",
            tuple(giants.beside),
            ratio_asked=at_most(2),
        ),
        Figure("D3", f"{count}: refused", "patches", (float(failed),), asked=at_most(0)),
        Figure(
            "D3 counts",
            f"{count}: lines counted otherwise than by `git apply --numstat`",
            "patches",
            (float(differing),),
            asked=at_most(0),
        ),
    ]


def _patches(path: Path) -> list[str]:
    with gzip.open(path, "rt") as lines:
        return [one["patch"] + "\n" for line in lines for one in json.loads(line)["patches"]]


def _giant(lines: int) -> str:
    """Hunks of one removed, one added and six unchanged lines."""
    hunks = [
        f"@@ -{at},7 +{at},7 @@\n" + " same\n" * 3 + f"-old {at}\n+new {at}\n" + " same\n" * 3
        for at in range(1, lines * 7 // 8, 7)
    ]
    return "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n" + "".join(hunks)


def _unidiff(text: str) -> PatchSet:
    return PatchSet(StringIO(text))


def _seconds(read: Callable[[str], object], texts: Sequence[str]) -> float:
    started = time.perf_counter()
    for text in texts:
        read(text)
    return time.perf_counter() - started


def _against_git(patches: Sequence[str], scratch: Path) -> tuple[int, int]:
    """How many of the patches we refuse, and of how many the counts are not git's."""
    failed = differing = 0
    for at in range(0, len(patches), AT_ONCE):
        some = patches[at : at + AT_ONCE]
        theirs = iter(_numstat(some, scratch))
        for patch in some:
            try:
                files = diff.parse(patch)
            except BadDiff:
                failed += 1
                continue
            ours = [f"{file.added}\t{file.removed}\t{file.path}" for file in files]
            differing += ours != [next(theirs, "") for _ in ours]
        differing += next(theirs, None) is not None
    return failed, differing


def _numstat(patches: Sequence[str], scratch: Path) -> list[str]:
    paths = []
    for number, patch in enumerate(patches):
        paths.append(scratch / f"{number}.diff")
        paths[-1].write_text(patch)
    done = subprocess.run(
        ["git", "apply", "--numstat", *paths], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


SUBJECT = Subject(
    "diffs",
    f"Every patch of {FILE}, and one diff of {LINES:,} lines in hunks of eight, in this process, one after the other."
    " The anchor is the parser below ours: what it asks for its own objects, ours has to afford beside git's quoting,"
    " renames and refusals with a line and a way out.",
    measure,
)
