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
from app.db.store.evidence import baselines, group_tests, reproduction_tests
from app.db.store.evidence.baselines import BaselineKey
from app.db.store.evidence.group_tests import (
    MOST_NAMES,
    NAME_CHARACTERS,
    REASON_CHARACTERS,
    SuiteOutcome,
    SuiteTask,
)
from app.db.store.evidence.reproduction_tests import WrittenScripts
from app.db.store.queue import progress
from app.jobs.job import Planned, PublishVerdict
from app.jobs.suite_jobs import RunTests
from app.settings import SuiteSettings
from model.domain import ObservedEvidence, Patch, RegressionResult
from model.environments.environment_cache import EnvironmentCache, TestEnvironment
from model.errors import BadRecipe, BadSuiteCommand, NoBaseline, NoEnvironment
from model.execution.candidate_tests import CandidateTests, run_candidate_tests
from model.execution.regression import Baseline, PatchEvidence
from model.execution.suite_command import SuiteCommand, parse_command
from model.prompts.untrusted import escape_invisible
from model.reproduction.reproduction_runs import ScriptRuns
from model.sandbox.walls import NoSandbox
from model.verifiers.execution import count_passed
from worker.git.tree_store import TreeStore
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.testing.reproduction import ReproducedGroup, run_written_tests

log = logging.getLogger(__name__)

_AGENTS_SECONDS: Final = 15.0
_ENGINE_SECONDS: Final = 5.0
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
            written = reproduction_tests.load_scripts(connection, job.evaluation)
        if task is not None:
            if task.alternatives_wanted:
                raise Postponed("agents still write alternatives", after_seconds=_AGENTS_SECONDS)
            if written is not None and written.is_awaited:
                why = "the engine still writes tests for the issue"
                raise Postponed(why, after_seconds=_ENGINE_SECONDS)
            outcome = self._run_all(context, job, task, written)
            with context.transaction() as connection:
                group_tests.finish(connection, job.evaluation, outcome)
                place = (job.installation, job.repository, job.issue, job.evaluation)
                context.enqueue(connection, [Planned(PublishVerdict(*place))])
        self.tree_store.discard(job.evaluation)

    def _run_all(
        self, context: Context, job: RunTests, task: SuiteTask, written: WrittenScripts | None
    ) -> SuiteOutcome:
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
        return self._run_group(context, _GroupRun(tree, task.patches, written, command, key))

    def _open_environment(self, name: str) -> TestEnvironment | None:
        """Return the operator's environment of that name; None, with the reason in the log, when it cannot be used."""
        if self.settings.tests is None:
            return None
        try:
            return EnvironmentCache(self.settings.tests).open(name)
        except (NoEnvironment, BadRecipe) as error:
            log.warning("%s", error)
            return None

    def _run_group(self, context: Context, group: "_GroupRun") -> SuiteOutcome:
        with transaction(context.database) as connection:
            baseline = baselines.load(connection, group.key)
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, f"{len(group.patches)} patches")
        deadline = time.monotonic() + self.settings.tests_seconds
        runs = ScriptRuns(
            group.command,
            parallel=self.settings.tests_parallel,
            keep_going=lambda: context.keep_going() and time.monotonic() < deadline,
        )
        try:
            ran = self.run(
                group.tree,
                group.patches,
                group.command,
                parallel=runs.parallel,
                baseline=baseline,
                keep_going=runs.keep_going,
            )
            shown = run_written_tests(group.tree, group.patches, ran.evidence, group.written, runs)
        except NoBaseline as error:
            context.check()
            return SuiteOutcome(failure=clean_reason(str(error)))
        except NoSandbox as error:
            log.warning("tests cannot run: %s", error)
            return SuiteOutcome(failure=_NO_SANDBOX)
        context.check()
        if baseline is None:
            self._save_baseline(context, group.key, ran.baseline)
        return build_outcome(ran.baseline, shown)

    def _save_baseline(self, context: Context, key: BaselineKey, baseline: Baseline) -> None:
        with context.transaction() as connection:
            baselines.save(connection, key, baseline)


@dataclass(frozen=True, slots=True)
class _GroupRun:
    """What runs for one group, and where."""

    tree: Path
    """The source tree of the base."""
    patches: tuple[Patch, ...]
    written: WrittenScripts | None
    """What the engine wrote for the issue; None: nothing was wanted."""
    command: SuiteCommand
    key: BaselineKey


def explain_environment(name: str) -> str:
    """Return the reason for a test environment that the operator does not have."""
    return f"the operator of this bot has no test environment {name}"


def build_outcome(baseline: Baseline, shown: ReproducedGroup) -> SuiteOutcome:
    """Return the evidence about each patch with bounded text, and the size of the baseline (pure)."""
    return SuiteOutcome(
        {
            patch: _build_evidence(evidence, shown.failure)
            for patch, evidence in shown.evidence.items()
        },
        expected=len(baseline.stable),
        flaky=len(baseline.flaky),
    )


def clean_reason(text: str) -> str:
    """Return a reason on one line, which may quote what a stranger's code wrote (pure)."""
    return escape_invisible(" ".join(text.split()))[:REASON_CHARACTERS]


def _build_evidence(evidence: PatchEvidence, failure: str | None) -> ObservedEvidence:
    """Return what all tests showed about one patch; `failure` says why no test written for the issue ran."""
    shown, passed = evidence.regression, count_passed(evidence)
    if evidence.reproduction and passed is None:
        failure = "no run of them gave a result"
    why = None if failure is None else clean_reason(failure)
    written = ObservedEvidence(reproduction=passed, reproduction_unknown=why)
    if shown.unknown is not None:
        return replace(written, unknown=clean_reason(shown.unknown))
    names = (escape_invisible(name)[:NAME_CHARACTERS] for name in shown.broken[:MOST_NAMES])
    counts = shown.expected, len(shown.broken)
    result = RegressionResult(*counts, tuple(names), len(shown.rewritten))
    return replace(written, regression=result)
