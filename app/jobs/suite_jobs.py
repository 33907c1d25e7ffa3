"""Jobs that run the repository's own tests on the candidates of an evaluation (pure)."""

from dataclasses import dataclass

from app.jobs.job import EvaluationJob, Queue


@dataclass(frozen=True, slots=True)
class PrepareTests(EvaluationJob):
    """Export the source tree of the base for the tests of an evaluation, or store why no tests run."""

    queue = Queue.GITHUB
    kind = "prepare_tests"


@dataclass(frozen=True, slots=True)
class RunTests(EvaluationJob):
    """Run the tests on the base and on each candidate, and store which tests each candidate breaks."""

    queue = Queue.TESTS
    kind = "run_tests"
