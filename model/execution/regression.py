"""Which tests that pass on the base does a patch break (pure).

R2E-Gym's execution-based verifier (section 4) begins with the regression tests. What counts is decided on the base
beforehand: a test that must pass on it in every run. Everything else about a patch's run that cannot be told is unknown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from model.errors import NoBaseline
from model.execution.suite_run import REPLACED, SuiteRun

_SHOWN: Final = 3
"""Broken tests that a sentence names."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """The tests that pass on the base in every run, and the set-up of these runs."""

    stable: frozenset[str]
    """Ids of the tests that passed each time."""
    flaky: frozenset[str]
    """Ids of the tests that passed in some runs only."""
    set_up: tuple[str, ...]
    seconds: float
    """Wall-clock seconds of the slowest run."""
    is_self_reported: bool = False
    """Whether the outcomes come from a file that the code under test can write."""

    def list_files(self) -> frozenset[str]:
        """Return the paths of the tests' files, as far as pytest's ids name them."""
        return frozenset(test.partition("::")[0] for test in self.stable | self.flaky)


def build_baseline(runs: Sequence[SuiteRun]) -> Baseline:
    """Return what may be expected of a patch, from at least one run on the base. Raises NoBaseline."""
    for run in runs:
        if run.failure is not None:
            raise NoBaseline(f"the tests say nothing about the base: {run.failure}")
    passed = [run.list_passed() for run in runs]
    stable = frozenset.intersection(*passed)
    if not runs[0].outcomes:
        raise NoBaseline(
            "the tests report no outcome on the base; check the command, which must run them in its own process "
            "(for Django's `runtests.py`, add --parallel=1)"
        )
    flaky = frozenset.union(*passed) - stable
    if not stable and flaky:
        raise NoBaseline(_describe_flaky(flaky, len(runs)))
    if not stable:
        raise NoBaseline(
            f"none of {len(runs[0].outcomes)} tests passes on the base; check the command and its environment"
        )
    return Baseline(
        stable,
        flaky,
        runs[0].set_up,
        max(run.seconds for run in runs),
        runs[0].is_self_reported,
    )


def _describe_flaky(flaky: frozenset[str], runs: int) -> str:
    """Return why there is no baseline when every test that passes in one run on the base fails in another."""
    count, shown = len(flaky), sorted(flaky)[:_SHOWN]
    which = (
        f"all {count} tests that pass on the base are"
        if count > 1
        else "the only test that passes on the base is"
    )
    more = f" and {count - _SHOWN} more" if count > _SHOWN else ""
    names = f"{', '.join(shown)[:200]}{more}"
    return f"{which} flaky, because no test passes in each of {runs} runs; repair or replace them: {names}"


@dataclass(frozen=True, slots=True)
class RegressionEvidence:
    """What the base's tests say about one patch."""

    broken: tuple[str, ...] = ()
    """Ids of the tests that pass on the base and not with the patch, in order."""
    expected: int = 0
    """The number of tests that pass on the base in every run."""
    unknown: str | None = None
    """Why nothing can be told about the patch, for a person; None when `broken` may be believed."""
    is_self_reported: bool = False
    """Whether the outcomes come from a file that the patch can write. This is weaker evidence."""
    rewritten: tuple[str, ...] = ()
    """Those of `broken` that the patch itself rewrites or removes, in order."""

    @property
    def is_disputed(self) -> bool:
        """Whether the patch breaks only tests that it rewrites or removes itself."""
        return bool(self.broken) and len(self.rewritten) == len(self.broken)

    @property
    def is_known(self) -> bool:
        """Whether the tests decide about the patch: they ran, and the patch does not dispute all that it breaks."""
        return self.unknown is None and not self.is_disputed

    @property
    def passes(self) -> bool | None:
        """Whether the patch breaks no test. None when that cannot be told, or only a file says so that the patch can write.

        It is also None for a patch that breaks only tests that it rewrites or removes itself.
        """
        if not self.is_known or (self.is_self_reported and not self.broken):
            return None
        return not self.broken


@dataclass(frozen=True, slots=True)
class PatchEvidence:
    """What all tests that ran show about one patch. It holds observations and no judgement."""

    regression: RegressionEvidence
    reproduction: tuple[tuple[str, bool | None], ...] = ()
    """The reproduction tests of the group: the id of each, and whether it passes with the patch. None is unknown."""


def describe_regression(evidence: RegressionEvidence) -> str:
    """Return what the base's tests say about a patch, for a person, as a sentence without its capital and full stop."""
    if evidence.unknown is not None:
        return f"unknown: {evidence.unknown}"
    noun, verb = ("test", "passes") if evidence.expected == 1 else ("tests", "pass")
    passing = f"{evidence.expected} {noun} that {verb} on the base"
    if evidence.is_self_reported:
        passing += ", by a report that the patch can write"
    if not evidence.broken:
        return f"breaks none of {passing}"
    shown = ", ".join(evidence.broken[:_SHOWN])
    more = len(evidence.broken) - _SHOWN
    rest = f" and {more} more" if more > 0 else ""
    own = describe_rewritten(len(evidence.broken), len(evidence.rewritten))
    return f"breaks {len(evidence.broken)} of {passing}{own}: {shown}{rest}"


def describe_rewritten(broken: int, rewritten: int) -> str:
    """Return how many of its broken tests a patch rewrites or removes itself, as the end of a clause; empty for none."""
    if not rewritten:
        return ""
    which = (
        f"{rewritten:,} of them" if rewritten < broken else "all of them" if broken > 1 else "it"
    )
    return f", and rewrites or removes {which} itself"


def compare(baseline: Baseline, run: SuiteRun) -> RegressionEvidence:
    """Return what the run of a patched tree says beside the baseline.

    A test that does not pass is broken, also one that is skipped or not found any more: a patch must not get rid of it.
    """
    expected = len(baseline.stable)
    if run.failure is not None:
        return RegressionEvidence(expected=expected, unknown=run.failure)
    if reason := _explain_difference(run.set_up, baseline.set_up):
        return RegressionEvidence(expected=expected, unknown=reason)
    broken = tuple(sorted(baseline.stable - run.list_passed()))
    # Nobody watched the tests of a file: what it leaves out may have passed.
    if run.is_self_reported and (missing := baseline.stable - run.outcomes.keys()):
        reason = f"the report tells no outcome of {len(missing)} of {expected} tests: {min(missing)[:200]}"
        return RegressionEvidence(expected=expected, unknown=reason, is_self_reported=True)
    return RegressionEvidence(broken, expected, is_self_reported=run.is_self_reported)


def _explain_difference(patched: Sequence[str], base: Sequence[str]) -> str | None:
    """Return how the run of a patched tree differs from that of the base; None when it does not.

    What the tests replace themselves is replaced on the base too. A patch may end a test before it does so.
    """
    names = [name for name in patched if not name.startswith(REPLACED)]
    expected = [name for name in base if not name.startswith(REPLACED)]
    if names != expected:
        changed = sorted(set(names) ^ set(expected))
        return f"the patch changes how the tests are run: {', '.join(changed)[:200]}"
    if more := sorted(set(patched) - set(base)):
        shown = ", ".join(name.removeprefix(REPLACED) for name in more)
        return f"the code under test replaces what the tests use: {shown[:200]}"
    return None
