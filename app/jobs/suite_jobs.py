"""Jobs that run tests on the candidates of an evaluation, and the keys of all its jobs (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from app.jobs.job import EvaluationJob, ProposePatches, Queue, VerifyGroup
from app.values.identifiers import EvaluationId


@dataclass(frozen=True, slots=True)
class PrepareTests(EvaluationJob):
    """Export the source tree of the base for the tests of an evaluation, or store why no tests run."""

    queue = Queue.GITHUB
    kind = "prepare_tests"


@dataclass(frozen=True, slots=True)
class WriteTests(EvaluationJob):
    """Let the engine write tests for the issue of an evaluation, and store their scripts."""

    queue = Queue.VERIFY
    kind = "write_tests"


@dataclass(frozen=True, slots=True)
class RunTests(EvaluationJob):
    """Run the tests on the base and on each candidate, and store which tests each candidate breaks."""

    queue = Queue.TESTS
    kind = "run_tests"


_KINDS: Final = (ProposePatches, VerifyGroup, PrepareTests, WriteTests, RunTests)


def list_evaluation_keys(evaluations: Iterable[EvaluationId]) -> list[str]:
    """List the keys of the jobs that are pointless once their evaluations are replaced or cancelled."""
    return [kind.build_key(evaluation) for evaluation in evaluations for kind in _KINDS]
