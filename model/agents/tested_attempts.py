"""Choose among several attempts by tests that run, with the reproduction tests of all of them."""

from collections.abc import Sequence

from model.agents.attempt_selection import AttemptSelection, choose_attempt, choose_tested_attempt
from model.agents.trajectories.trajectory import Attempt
from model.domain import Issue, Patch, PatchId
from model.protocols import Engine
from model.reproduction.patch_selection import ExecutionSelection
from model.reproduction.rerank import SelectedPatches
from model.reproduction.test_writing import WritingLimits, write_tests


def choose_by_tests(
    attempts: Sequence[Attempt],
    tests: ExecutionSelection,
    engine: Engine,
    issue: Issue,
    limits: WritingLimits,
) -> AttemptSelection:
    """Choose among attempts by the tests of the tree and by reproduction tests.

    The tests that agents wrote in their attempts run on the patch of each attempt. For an agent that writes none, the
    engine writes them now. One attempt of an agent that used its tests itself needs no other choice. Raises EngineDown
    and NoSandbox.
    """
    diffs = [attempt.patch for attempt in attempts]
    patches = [
        Patch(PatchId(f"attempt-{number}"), diff) for number, diff in enumerate(diffs, 1) if diff
    ]
    uses_tests = any(step.stage for attempt in attempts for step in attempt.trajectory.steps)
    if not patches or (uses_tests and len(patches) == 1):
        return choose_attempt(diffs)
    selected = (
        tests.select_again(patches)
        if uses_tests
        else _select_by_new_tests(patches, tests, engine, issue, limits)
    )
    preferred = {int(patch.removeprefix("attempt-")) - 1 for patch in selected.kept}
    return choose_tested_attempt(diffs, preferred, selected.record)


def _select_by_new_tests(
    patches: Sequence[Patch],
    tests: ExecutionSelection,
    engine: Engine,
    issue: Issue,
    limits: WritingLimits,
) -> SelectedPatches:
    collected = write_tests(engine, issue, tests.tree, limits=limits)
    return tests.select_by(patches, collected, written=limits.tests)
