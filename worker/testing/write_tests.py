"""Let the engine write tests for the issue of one evaluation.

This process reads text by strangers. It holds no credentials of GitHub, has no tool, and runs nothing that the engine
writes. If the writing fails, the group's other tests run without it.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from app.db.session import transaction
from app.db.store.evidence import reproduction_tests
from app.db.store.issues import evaluations
from app.db.store.queue import progress
from app.jobs.suite_jobs import WriteTests
from model.domain import Issue
from model.errors import ModelError
from model.protocols import Engine
from model.reproduction.test_writing import WritingLimits, WrittenTests, ask_for_tests
from worker.queue.context import Context

log = logging.getLogger(__name__)

_MOST_ATTEMPTS: Final = 2
"""A writing that killed its worker twice is not tried again."""
_SECONDS: Final = 180.0
_DIED: Final = "the worker died while the engine wrote them"
_ENGINE: Final = "the engine failed"
_NO_SCRIPT: Final = "no reply of the engine holds a usable script"


@dataclass(frozen=True, slots=True)
class WriteTestsHandler:
    """Asks the engine for reproduction tests and stores their scripts."""

    load_engine: Callable[[], Engine]
    """Called when a job needs it, because loading a local model takes seconds."""

    def __call__(self, context: Context, job: WriteTests) -> None:
        """Store the scripts for the evaluation, or why there is none; do nothing if nobody waits for them."""
        with transaction(context.database) as connection:
            task = reproduction_tests.load_task(connection, job.evaluation)
            evaluation = evaluations.load(connection, job.evaluation)
        if task is None or evaluation is None or evaluation.state == "superseded":
            return
        with context.transaction() as connection:
            progress.set_progress(connection, context.claimed, f"{task.tests} tests for the issue")
        issue = Issue(evaluation.title, evaluation.body)
        written, failure = WrittenTests(()), _DIED
        if context.claimed.attempt <= _MOST_ATTEMPTS:
            written, failure = self._ask(issue, task)
        why = None if written.texts else failure
        with context.transaction() as connection:
            reproduction_tests.finish(
                connection, job.evaluation, written.texts, written.tokens, why
            )

    def _ask(self, issue: Issue, task: reproduction_tests.WritingTask) -> tuple[WrittenTests, str]:
        """Return what the engine wrote, and the reason in case that no script is among it."""
        limits = WritingLimits(task.tests, seconds=_SECONDS)
        try:
            return ask_for_tests(self.load_engine(), issue, task.example, limits=limits), _NO_SCRIPT
        except ModelError as error:
            log.warning("no tests for an issue: %s", error)
            return WrittenTests(()), _ENGINE
