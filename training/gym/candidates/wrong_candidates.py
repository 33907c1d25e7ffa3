"""Add wrong candidates to a task: parts of the true patch, mutants of it, and other commits' edits of the same files.

Each is run, and kept only if a fail-to-pass test does not pass with it. Candidates have neutral ids in a neutral order, so
that neither tells a verifier which is true.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, zip_longest
from typing import Final

from model.execution.tree_changes import TreeChanges
from model.gyms.gym_task import GymCandidate
from model.workspace.git_diff import FileChange, build_diff
from training.gym.candidates.mutants import list_mutants
from training.gym.candidates.patch_blocks import list_parts, shuffle

WRONG: Final = 3
"""Wrong candidates of a task, as many as the paper's groups of four have beside a true one."""
_MOST_RUNS: Final = 9
_MOST_OF_A_KIND: Final = 6
_SECONDS: Final = 60.0

Resolves = Callable[[TreeChanges], bool | None]
"""Returns whether all fail-to-pass tests pass with these changes; None where that cannot be told."""


def write_diff(changes: TreeChanges) -> str:
    """Return changes as a unified diff, like git's. Raises WorkspaceError."""
    files = [
        FileChange(
            path, changes.before.get(path), changes.written.get(path), path in changes.executable
        )
        for path in sorted(changes.paths)
    ]
    return build_diff([file for file in files if file.before != file.after], _SECONDS)


def build_candidates(
    true_patch: TreeChanges, edits: Sequence[TreeChanges], resolves: Resolves, seed: str
) -> tuple[GymCandidate, ...]:
    """Return the true patch and at most three wrong candidates, in an order that depends on their texts.

    `edits` are other commits' changes of the same files that fit the base. `seed` decides which parts and mutants are
    tried.
    """
    sources = {write_diff(true_patch): (True, "true")}
    runs = 0
    for source, changes in _list_attempts(true_patch, edits, seed):
        wrong = len(sources) - 1
        if wrong == WRONG or runs == _MOST_RUNS:
            break
        diff = write_diff(changes)
        if diff and diff not in sources:
            runs += 1
            if resolves(changes) is False:
                sources[diff] = (False, source)
    built = [
        GymCandidate(
            hashlib.sha256(f"{seed}{diff}".encode(errors="surrogatepass")).hexdigest()[:10],
            diff,
            is_right,
            source,
        )
        for diff, (is_right, source) in sources.items()
    ]
    return tuple(sorted(built, key=lambda candidate: candidate.id))


def _list_attempts(
    true_patch: TreeChanges, edits: Sequence[TreeChanges], seed: str
) -> Iterator[tuple[str, TreeChanges]]:
    """Yield what may be wrong, the kinds in turn."""
    kinds = (
        [("part", part) for part in shuffle(list_parts(true_patch), seed)[:_MOST_OF_A_KIND]],
        [
            ("mutant", mutant)
            for mutant in shuffle(list_mutants(true_patch), seed)[:_MOST_OF_A_KIND]
        ],
        [("another commit", edit) for edit in edits[:2]],
    )
    yield from filter(None, chain.from_iterable(zip_longest(*kinds)))
