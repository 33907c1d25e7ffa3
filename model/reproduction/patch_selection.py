"""Select among the patches of an issue by running tests: regression tests first, then the reproduction tests."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from model.domain import Patch, PatchId
from model.execution.candidate_tests import BASE_RUNS, run_candidate_tests
from model.execution.regression import Baseline, RegressionEvidence
from model.execution.suite_command import SuiteCommand
from model.reproduction.reproduction_runs import (
    ScriptRuns,
    keep_reproducing,
    run_on_candidates,
)
from model.reproduction.reproduction_test import (
    KeptTests,
    ReproductionEvidence,
    ReproductionTest,
    choose_tests,
    collect_tests,
)
from model.reproduction.rerank import (
    RerankedPatches,
    SelectedPatches,
    keep_fewest_broken,
    rerank_patches,
)
from model.voting.selection import fingerprint_edit


@dataclass(slots=True)
class ExecutionSelection:
    """Selects patches of one issue by tests on one tree. All attempts at the issue share it and its tests.

    `prepare_selection` makes one. Attempts may call it from several threads; it serves them in turn, because each call
    uses all cores.
    """

    tree: Path
    runs: ScriptRuns
    baseline: Baseline
    most_tests: int
    """Most reproduction tests that count in one selection."""
    _tests: dict[str, ReproductionTest] = field(default_factory=dict)
    _seconds: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def select(self, patches: Sequence[Patch], texts: Sequence[str]) -> SelectedPatches:
        """Select among the patches of one attempt. `texts` are the reproduction tests that the model wrote in it.

        Equal patches count as often as they are there, and are run once. Raises NoSandbox.
        """
        return self.select_by(patches, collect_tests(texts), written=len(texts))

    def select_by(
        self, patches: Sequence[Patch], collected: KeptTests, *, written: int
    ) -> SelectedPatches:
        """Select by tests that were collected already; `written` is the number of samples. Raises NoSandbox."""
        with self._lock:
            kept = keep_reproducing(self.tree, collected, self.runs)
            self._tests |= {test.id: test for test in kept.tests}
            self._seconds |= kept.seconds
            return self._rerank(patches, kept, written)

    def select_again(self, patches: Sequence[Patch]) -> SelectedPatches:
        """Select among the patches of several attempts by the tests that were kept in all of them. Raises NoSandbox."""
        with self._lock:
            shared = KeptTests(tuple(self._tests.values()), {}, self._seconds)
            return self._rerank(patches, shared, len(shared.tests))

    def _rerank(self, patches: Sequence[Patch], kept: KeptTests, written: int) -> SelectedPatches:
        first: dict[str, Patch] = {}
        runs_as = {
            patch.id: first.setdefault(fingerprint_edit(patch.diff) or patch.diff, patch).id
            for patch in patches
        }
        regression = run_candidate_tests(
            self.tree,
            tuple(first.values()),
            self.runs.command,
            parallel=self.runs.parallel,
            baseline=self.baseline,
            keep_going=self.runs.keep_going,
        ).evidence
        broken = {patch: _count_broken(evidence) for patch, evidence in regression.items()}
        unbroken = keep_fewest_broken(broken)
        finalists = [patch for patch in first.values() if patch.id in unbroken]
        every = run_on_candidates(self.tree, finalists, kept, self.runs)
        evidence = choose_tests(every, self.most_tests)
        passed = {patch: evidence.list_passed(patch) for patch in evidence.outcomes}
        reranked = rerank_patches(
            {patch.id: broken[runs_as[patch.id]] for patch in patches},
            {patch.id: passed.get(runs_as[patch.id], frozenset()) for patch in patches},
        )
        return SelectedPatches(
            tuple(patch.id for patch in patches if patch.id in reranked.kept),
            {
                "regression": {
                    "expected": len(self.baseline.stable),
                    "flaky": len(self.baseline.flaky),
                },
                "tests": _describe_tests(kept, evidence, written),
                "patches": [
                    _describe_patch(patch.id, regression[runs_as[patch.id]], passed, runs_as)
                    for patch in patches
                ],
                **_describe_choice(reranked),
            },
        )


def prepare_selection(
    tree: Path, command: SuiteCommand, *, most_tests: int, base_runs: int = BASE_RUNS
) -> ExecutionSelection:
    """Run the tests of the folder `tree` on itself, and return what selects patches of it.

    Raises NoBaseline when none passes, and NoSandbox.
    """
    baseline = run_candidate_tests(tree, (), command, base_runs=base_runs).baseline
    return ExecutionSelection(tree, ScriptRuns(command), baseline, most_tests)


def _count_broken(evidence: RegressionEvidence) -> int | None:
    return None if evidence.unknown is not None else len(evidence.broken)


def _describe_tests(
    kept: KeptTests, evidence: ReproductionEvidence, written: int
) -> dict[str, Any]:
    used = [{"id": test.id, "votes": test.votes} for test in evidence.tests]
    dropped = {reason.value: count for reason, count in sorted(kept.dropped.items())}
    if outvoted := len(kept.tests) - len(used):
        dropped["outvoted"] = outvoted
    return {"written": written, "kept": len(kept.tests), "used": used, "dropped": dropped}


def _describe_patch(
    patch: PatchId,
    regression: RegressionEvidence,
    passed: Mapping[PatchId, frozenset[str]],
    runs_as: Mapping[PatchId, PatchId],
) -> dict[str, Any]:
    tests = passed.get(runs_as[patch])
    return {
        "id": patch,
        "broken": _count_broken(regression),
        "passed": None if tests is None else sorted(tests),
        "unknown": regression.unknown,
    }


def _describe_choice(reranked: RerankedPatches) -> dict[str, Any]:
    return {"unbroken": reranked.unbroken, "best_score": reranked.best_score}
