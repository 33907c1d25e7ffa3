"""Run the tests that the engine wrote for an issue: on the base first, then on each candidate, in sandboxes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from app.db.store.evidence.reproduction_tests import WrittenScripts
from model.domain import Patch, PatchId
from model.execution.regression import PatchEvidence, RegressionEvidence
from model.reproduction.reproduction_runs import ScriptRuns, keep_reproducing, run_on_candidates
from model.reproduction.reproduction_source import add_outcomes
from model.reproduction.reproduction_test import collect_tests


@dataclass(frozen=True, slots=True)
class ReproducedGroup:
    """What all tests showed about each candidate of a group."""

    evidence: Mapping[PatchId, PatchEvidence]
    failure: str | None = None
    """Why no test written for the issue ran on a candidate, for people; None: one ran, or none was wanted."""


def run_written_tests(
    tree: Path,
    patches: Sequence[Patch],
    regression: Mapping[PatchId, RegressionEvidence],
    written: WrittenScripts | None,
    runs: ScriptRuns,
) -> ReproducedGroup:
    """Return the evidence `regression` with the outcomes of the scripts `written`; None: none were wanted.

    A script counts only if it shows the issue on the base, the folder `tree`. Raises NoSandbox.
    """
    evidence = {patch: PatchEvidence(shown) for patch, shown in regression.items()}
    texts = written.texts if written is not None else ()
    if not texts:
        return ReproducedGroup(evidence, written.failure if written is not None else None)
    kept = keep_reproducing(tree, collect_tests(texts), runs)
    if not runs.keep_going():
        return ReproducedGroup(evidence, "the time for the tests of all patches was used up")
    if not kept.tests:
        noun = "written test shows" if len(texts) == 1 else "written tests shows"
        return ReproducedGroup(evidence, f"none of {len(texts)} {noun} the issue on the base")
    return ReproducedGroup(add_outcomes(evidence, run_on_candidates(tree, patches, kept, runs)))
