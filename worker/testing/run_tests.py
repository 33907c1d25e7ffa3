"""Run the tests of one evaluation on its base and on each candidate, and store what they showed.

This process runs a stranger's code, in sandboxes only. It holds no credentials of GitHub and no key of an engine. If the
tests cannot run, the verdict stands without them.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.db.session import transaction
from app.db.store.evidence import baselines, group_tests
from app.db.store.evidence.baselines import BaselineKey
from app.db.store.evidence.group_tests import (
    MOST_NAMES,
    NAME_CHARACTERS,
    REASON_CHARACTERS,
    SuiteOutcome,
    SuiteTask,
)
from app.db.store.queue import progress
from app.jobs.job import Planned, PublishVerdict
from app.jobs.suite_jobs import RunTests
from app.settings import SuiteSettings
from model.domain import ObservedEvidence, RegressionResult
from model.environments.environment_cache import EnvironmentCache, TestEnvironment
from model.errors import BadRecipe, BadSuiteCommand, NoBaseline, NoEnvironment
from model.execution.candidate_tests import CandidateTests, run_candidate_tests
from model.execution.regression import Baseline, RegressionEvidence
from model.execution.suite_command import SuiteCommand, parse_command
from model.prompts.untrusted import escape_invisible
from model.sandbox.walls import NoSandbox
from worker.git.tree_store import TreeStore
from worker.queue.context import Context
from worker.queue.errors import Postponed

log = logging.getLogger(__name__)

_AGENTS_SECONDS: Final = 15.0
_MOST_ATTEMPTS: Final = 2
"""Tests that killed their worker twice are not run again."""
_DIED: Final = "the worker died while it ran the tests"
_NO_TREE: Final = "the source tree of the base is gone"
_NO_SANDBOX: Final = (
    "the machine of this bot cannot run tests in a sandbox; the operator's log says why"
)


@dataclass(frozen=True, slots=True)
class RunTestsHandler:
    """Runs the tests of one evaluation and plans the publication of what they showed."""

    tree_store: TreeStore
    settings: SuiteSettings
    run: Callable[..., CandidateTests] = run_candidate_tests

    def __call__(self, context: Context, job: RunTests) -> None:
        """Run the tests, store their outcome and plan the publication, unless the evaluation is obsolete."""
        with transaction(context.database) as connection:
            task = group_tests.load_task(connection, job.evaluation)
        if task is not None:
            if task.alternatives_wanted:
                raise Postponed("agents still write alternatives", after_seconds=_AGENTS_SECONDS)
            outcome = self._run_all(context, job, task)
            with context.transaction() as connection:
                group_tests.finish(connection, job.evaluation, outcome)
                place = (job.installation, job.repository, job.issue, job.evaluation)
                context.enqueue(connection, [Planned(PublishVerdict(*place))])
        self.tree_store.discard(job.evaluation)

    def _run_all(self, context: Context, job: RunTests, task: SuiteTask) -> SuiteOutcome:
        wanted = task.tests.request
        tree = self.tree_store.find(job.evaluation)
        if context.claimed.attempt > _MOST_ATTEMPTS:
            return SuiteOutcome(failure=_DIED)
        if tree is None or wanted.base_sha is None:
            return SuiteOutcome(failure=_NO_TREE)
        if (environment := self._open_environment(wanted.environment)) is None:
            return SuiteOutcome(failure=explain_environment(wanted.environment))
        try:
            parsed = parse_command(wanted.command)
        except BadSuiteCommand as error:
            return SuiteOutcome(failure=clean_reason(str(error)))
        command = replace(parsed, python=environment.python, seconds=float(wanted.seconds))
        key = BaselineKey(job.repository, wanted.base_sha, wanted.command, environment.digest)
        return self._run_command(context, task, tree, command, key)

    def _open_environment(self, name: str) -> TestEnvironment | None:
        """Return the operator's environment of that name; None, with the reason in the log, when it cannot be used."""
        if self.settings.tests is None:
            return None
        try:
            return EnvironmentCache(self.settings.tests).open(name)
        except (NoEnvironment, BadRecipe) as error:
            log.warning("%s", error)
            return None

    def _run_command(
        self, context: Context, task: SuiteTask, tree: Path, command: SuiteCommand, key: BaselineKey
    ) -> SuiteOutcome:
        with transaction(context.database) as connection:
            baseline = baselines.load(connection, key)
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, f"{len(task.patches)} patches")
        deadline = time.monotonic() + self.settings.tests_seconds
        try:
            ran = self.run(
                tree,
                task.patches,
                command,
                parallel=self.settings.tests_parallel,
                baseline=baseline,
                keep_going=lambda: context.keep_going() and time.monotonic() < deadline,
            )
        except NoBaseline as error:
            context.check()
            return SuiteOutcome(failure=clean_reason(str(error)))
        except NoSandbox as error:
            log.warning("tests cannot run: %s", error)
            return SuiteOutcome(failure=_NO_SANDBOX)
        context.check()
        if baseline is None:
            self._save_baseline(context, key, ran.baseline)
        return build_outcome(ran)

    def _save_baseline(self, context: Context, key: BaselineKey, baseline: Baseline) -> None:
        with context.transaction() as connection:
            baselines.save(connection, key, baseline)


def explain_environment(name: str) -> str:
    """Return the reason for a test environment that the operator does not have."""
    return f"the operator of this bot has no test environment {name}"


def build_outcome(tests: CandidateTests) -> SuiteOutcome:
    """Return the evidence about each patch with bounded text, and the size of the baseline (pure)."""
    return SuiteOutcome(
        {patch: _build_evidence(evidence) for patch, evidence in tests.evidence.items()},
        expected=len(tests.baseline.stable),
        flaky=len(tests.baseline.flaky),
    )


def clean_reason(text: str) -> str:
    """Return a reason on one line, which may quote what a stranger's code wrote (pure)."""
    return escape_invisible(" ".join(text.split()))[:REASON_CHARACTERS]


def _build_evidence(evidence: RegressionEvidence) -> ObservedEvidence:
    if evidence.unknown is not None:
        return ObservedEvidence(unknown=clean_reason(evidence.unknown))
    names = (escape_invisible(name)[:NAME_CHARACTERS] for name in evidence.broken[:MOST_NAMES])
    counts = evidence.expected, len(evidence.broken)
    return ObservedEvidence(RegressionResult(*counts, tuple(names), len(evidence.rewritten)))
