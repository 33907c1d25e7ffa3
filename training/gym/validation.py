"""Find the fail-to-pass and pass-to-pass tests of a commit by running them before and after it, three times each.

R2E-Gym (section 2) calls a test fail-to-pass if it fails in the original commit and passes in the fixed one. Here each
test must do the same in every run: a test that does not is flaky, and says nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from model.execution.suite_command import SuiteCommand
from model.execution.suite_process import run_in_copy
from model.execution.suite_run import Outcome, SuiteRun

RUNS: Final = 3
NOTHING_FIXED: Final = "no test fails before and passes after"
FLAKY: Final = "its fail-to-pass tests are flaky"


@dataclass(frozen=True, slots=True)
class TestVerdicts:
    """What the runs before and after a commit say about its tests."""

    __test__ = False  # pytest would collect a class of this name

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    flaky: tuple[str, ...] = ()
    """Ids of tests that did not end the same way in every run of one version."""
    errors: dict[str, str] = field(default_factory=dict)
    """Texts of failures before the commit, by test or module."""
    seconds: float = 0.0
    """Wall-clock seconds of the slowest run."""


def run_versions(
    before: Path, after: Path, command: SuiteCommand, runs: int
) -> tuple[list[SuiteRun], list[SuiteRun]]:
    """Run a command `runs` times on the copies of the tree before and after the commit. A failed run ends the rest."""
    results: tuple[list[SuiteRun], list[SuiteRun]] = ([], [])
    for _ in range(runs):
        for copy, finished in zip((after, before), reversed(results), strict=True):
            finished.append(run_in_copy(copy, command))
            if finished[-1].failure is not None:
                return results
    return results


def explain_failure(runs: Iterable[SuiteRun]) -> str | None:
    """Return why runs say nothing, in the same words for the same cause; None when all may be believed."""
    return next((shorten_failure(run.failure) for run in runs if run.failure is not None), None)


def shorten_failure(failure: str) -> str:
    """Return the cause of a failed run without the names that differ from commit to commit."""
    return f"its tests do not run: {failure.partition(':')[0].partition(' after ')[0]}"


def compare_runs(before: Sequence[SuiteRun], after: Sequence[SuiteRun]) -> TestVerdicts:
    """Decide about each test from runs that all have results. There is at least one of each version."""
    tests = sorted({test for run in after for test in run.outcomes})
    verdicts: dict[str, list[str]] = {"fail_to_pass": [], "pass_to_pass": [], "flaky": []}
    for test in tests:
        kind = _judge(
            [run.outcomes.get(test) for run in before], [run.outcomes.get(test) for run in after]
        )
        if kind:
            verdicts[kind].append(test)
    return TestVerdicts(
        **{name: tuple(tests_of) for name, tests_of in verdicts.items()},
        errors=dict(before[0].errors),
        seconds=max(run.seconds for run in (*before, *after)),
    )


def merge_verdicts(modules: TestVerdicts, suite: TestVerdicts) -> TestVerdicts:
    """Return the verdicts of the changed modules, with the pass-to-pass tests that the rest of the suite adds.

    A test that the runs of the modules did not find stable is left out. Fail-to-pass tests come from the modules alone.
    """
    files = {
        test.partition("::")[0]
        for test in (*modules.fail_to_pass, *modules.pass_to_pass, *modules.flaky)
    }
    added = {test for test in suite.pass_to_pass if test.partition("::")[0] not in files}
    return replace(modules, pass_to_pass=tuple(sorted({*modules.pass_to_pass, *added})))


def _judge(before: Sequence[Outcome | None], after: Sequence[Outcome | None]) -> str | None:
    """Return the kind of a test. A test that its module cannot offer before the commit fails there."""
    if len(set(before)) > 1 or len(set(after)) > 1:
        return "flaky"
    if after[0] is not Outcome.PASSED:
        return None
    if before[0] is Outcome.PASSED:
        return "pass_to_pass"
    return "fail_to_pass" if before[0] in {Outcome.FAILED, None} else None
