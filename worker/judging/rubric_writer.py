"""Write the checklist of an issue once for the verifier `rubric`, and keep it for later evaluations of the issue.

An agent in a sandboxed process reads the handed-over tree of the base, as agents that write alternatives do. It sees no
patch. The process that judges holds the engine's key, so it opens no file of the tree. Where the agent hands nothing in,
the model writes the checklist from the issue alone. A checklist that could not be written is not kept.
"""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

from app.db.session import transaction
from app.db.store.issues import votes
from app.db.store.issues.evaluations import Evaluation
from app.db.store.queue import progress
from app.values.identifiers import EvaluationId
from model.agents.agent_catalog import RUBRIC_WRITER
from model.agents.mini_se import tree_reader
from model.agents.trajectories.trajectory import Attempt, Step
from model.domain import Issue
from model.protocols import Engine
from model.verifiers.reports.rubric_source import (
    Complete,
    RubricSource,
    build_issue_source,
    chain_sources,
    keep_rubrics,
)
from model.voting.rubric import Rubric
from worker.agents import agent_process
from worker.agents.agent_process import AgentFailed
from worker.agents.budget import AgentLimits
from worker.queue.context import Context

log = logging.getLogger(__name__)

_LIMITS: Final = AgentLimits(
    seconds=tree_reader.LIMITS.seconds, tokens=tree_reader.LIMITS.rounds * tree_reader.LIMITS.tokens
)


@dataclass(frozen=True, slots=True)
class StoredRubrics:
    """The checklists in the database that the evaluations of one issue share. A new one belongs to `evaluation`."""

    context: Context
    evaluation: EvaluationId

    def load(self, digest: str) -> Any:
        """Return the document under `digest`, unchecked; None if there is none."""
        with transaction(self.context.database) as connection:
            return votes.find_rubric(connection, self.evaluation, digest)

    def save(self, digest: str, document: Mapping[str, Any]) -> None:
        """Store a document under `digest`. Raises Fenced if another worker owns the job."""
        with self.context.transaction() as connection:
            votes.save_rubric(connection, self.evaluation, digest, document)


@dataclass(frozen=True, slots=True)
class RubricWriter:
    """Writes the checklists of issues with a language model."""

    engine: Engine
    run_agent: Callable[..., tuple[Attempt, ...]] = agent_process.run_agent

    def open_source(
        self, context: Context, evaluation: Evaluation, tree: Path | None
    ) -> RubricSource:
        """Return the source of checklists for one evaluation: those that are kept, else new ones.

        `tree` is the source tree that was handed over; without it, the issue's kept checklist of the same base is used.
        """
        store, model = StoredRubrics(context, evaluation.id), self.engine.model
        code = self._build_code_source(context, evaluation.id, tree)
        if evaluation.tree_base is not None:
            code = keep_rubrics(code, store, model, evaluation.tree_base)
        return chain_sources(code, keep_rubrics(build_issue_source(self.engine), store, model))

    def _build_code_source(
        self, context: Context, evaluation: EvaluationId, tree: Path | None
    ) -> RubricSource:
        def write(issue: Issue, complete: Complete) -> Rubric | None:
            # The input that crashed the first attempt at the job may crash this one too.
            if tree is None or context.claimed.attempt > 1:
                return None
            try:
                return self._run_writer(context, tree, issue, complete)
            except AgentFailed as error:
                log.warning("no checklist from the code for evaluation %s: %s", evaluation, error)
                return None

        return RubricSource(tree_reader.fingerprint_prompt(), write)

    def _run_writer(
        self, context: Context, tree: Path, issue: Issue, complete: Complete
    ) -> Rubric | None:
        numbers = count(1)

        def report_step(_attempt: int, _step: Step) -> None:
            context.check()
            with context.transaction() as connection:
                text = f"checklist, step {next(numbers)}"
                progress.set_progress(connection, context.claimed, text)

        (attempt,) = self.run_agent(
            tree,
            issue,
            agent=RUBRIC_WRITER,
            engine=tree_reader.CountedEngine(self.engine, complete),
            seeds=(0,),
            limits=_LIMITS,
            on_step=report_step,
        )
        return tree_reader.read_rubric(attempt.trajectory)
