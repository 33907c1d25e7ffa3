"""Run an agent that writes alternatives for one evaluation.

This process reads text by strangers and holds no GitHub credentials. If the agent fails, the group
is judged without it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import attempts, hints, proposals
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.alternatives.hints import Hint
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation
from app.db.store.queue import installation_controls, progress
from app.db.store.queue.installation_controls import InstallationPaused
from app.db.store.queue.jobs import Fenced
from app.jobs.job import Planned, ProposePatches, VerifyGroup
from app.policy.alternative_policy import RefusalReason, find_new_edits, has_budget
from app.settings import CeilingSettings
from app.settings.repo_config import RepoConfig
from model.agents.trajectories.trajectory import Attempt, Step, StopReason
from model.domain import EngineInfo, Issue
from model.errors import Cancelled, ModelError
from model.protocols import Engine
from worker.agents import budget
from worker.agents.agent_process import AgentFailed
from worker.agents.budget import BudgetReservation, UsageLedger
from worker.git.tree_store import TreeStore
from worker.outcomes import second_attempts
from worker.queue.context import Context
from worker.queue.errors import Postponed

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AgentSetup:
    """The agent that writes alternatives, by its name in the catalog, and its engine."""

    agent: str
    engine: Engine
    repair_prompt: str | None = None
    """Name or file of the prompt of Agentless Mini's repairs; None for the default."""


@dataclass(frozen=True, slots=True)
class AttemptBatch:
    """An agent's attempts at one issue that run in parallel."""

    seeds: tuple[int, ...]
    hint: Hint | None = None
    """The hint that makes these second attempts; None for first attempts."""


@dataclass(frozen=True, slots=True)
class ProposalTask:
    """The attempts that agents should make for one evaluation, and the settings of its repository."""

    evaluation: Evaluation
    place: Place
    batches: tuple[AttemptBatch, ...]
    config: RepoConfig
    """The repository's settings, which hold its budget per day."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Return the sampling seeds of all attempts, one per attempt, in the order of the batches."""
        return tuple(seed for batch in self.batches for seed in batch.seeds)


@dataclass(frozen=True, slots=True)
class ProposalResult:
    """The records of the attempts for one evaluation, and the reason why there are fewer alternatives than wanted."""

    records: tuple[AttemptRecord, ...] = ()
    lack: RefusalReason | None = None
    """Why an attempt is missing; None when all were made."""


@dataclass(frozen=True, slots=True)
class ProposePatchesHandler:
    """Runs the agent on an issue's exported source tree, saves its patches and plans the judging of the group."""

    tree_store: TreeStore
    agent_setup: Callable[[], AgentSetup]
    """Builds the agent; called when a job needs it, because loading a local model takes seconds."""
    run_agent: Callable[..., tuple[Attempt, ...]]
    """`worker.agents.agent_process.run_agent`, or a function with the same signature."""
    ceilings: CeilingSettings = field(default_factory=CeilingSettings)
    """The operator's ceilings, which bound the repository's own budget."""
    keeps_tree: bool = False
    """Whether the judge reads code of the base, so that it needs the tree after the agents."""

    def __call__(self, context: Context, job: ProposePatches) -> None:
        """Run the agent, save its attempts and plan the next job, unless the evaluation is obsolete."""
        with transaction(context.database) as connection:
            task = _load_task(connection, job, self.ceilings)
        goes_on = False
        try:
            if task is not None:
                self._finish(context, job, task, self._propose(context, job, task))
        except (InstallationPaused, Postponed):
            goes_on = True
            raise
        finally:  # after any other end agents do not read this tree again
            if not goes_on and not self.keeps_tree:
                self.tree_store.discard(job.evaluation)

    def _finish(
        self, context: Context, job: ProposePatches, task: ProposalTask, result: ProposalResult
    ) -> None:
        try:
            with context.transaction() as connection:
                _save_result(connection, task, result)
                place = (job.installation, job.repository, job.issue, job.evaluation)
                context.enqueue(connection, [Planned(VerifyGroup(*place))])
        except Fenced:
            self._save_taken_back(context, task, result.records)
            raise

    def _propose(self, context: Context, job: ProposePatches, task: ProposalTask) -> ProposalResult:
        tree = self.tree_store.find(job.evaluation)
        # The input that crashed the first attempt may crash this one too.
        if context.claimed.attempt > 1:
            return ProposalResult(lack=RefusalReason.CRASHED)
        if tree is None:
            return ProposalResult(lack=RefusalReason.NO_TREE)
        with transaction(context.database) as connection:
            if not has_budget(task.config, attempts.sum_cost(connection, job.repository)):
                return ProposalResult(lack=RefusalReason.BUDGET)
        try:
            setup = self.agent_setup()
        except ModelError as error:
            log.warning("no agent: %s", error)
            return ProposalResult(lack=RefusalReason.ENGINE)
        return self._run_batches(context, setup, task, tree)

    def _run_batches(
        self, context: Context, setup: AgentSetup, task: ProposalTask, tree: Path
    ) -> ProposalResult:
        """Run one batch after the other while the budget lasts."""
        records: list[AttemptRecord] = []
        try:
            for batch in task.batches:
                with transaction(context.database) as connection:
                    where = (task.place.repository, task.config, len(batch.seeds))
                    reservation = budget.reserve_budget(
                        connection, *where, may_postpone=not records
                    )
                if reservation is None:
                    return ProposalResult(tuple(records), RefusalReason.BUDGET)
                batch_records = self._run_batch(context, setup, task, batch, (tree, reservation))
                about = batch.hint.attempt if batch.hint else None
                records += [replace(record, guided_by=about) for record in batch_records]
        except (Cancelled, InstallationPaused, Postponed, Fenced):
            self._save_taken_back(context, task, records)
            raise
        return ProposalResult(tuple(records))

    def _run_batch(
        self,
        context: Context,
        setup: AgentSetup,
        task: ProposalTask,
        batch: AttemptBatch,
        where: tuple[Path, BudgetReservation],
    ) -> tuple[AttemptRecord, ...]:
        """Run one batch; `where` is the tree and the reservation, which always ends here."""
        tree, reservation = where
        engine = EngineInfo(setup.engine.name, setup.engine.model, "")
        ledger = UsageLedger(setup.agent, engine, batch.seeds)

        def record_step(index: int, step: Step) -> None:
            count = ledger.add_step(index, step)
            context.check()
            number = task.seeds.index(batch.seeds[index]) + 1
            text = f"attempt {number} of {len(task.seeds)}, step {count}"
            with context.transaction() as connection:
                progress.set_progress(connection, context.claimed, text)

        try:
            done = self.run_agent(
                tree,
                task.place.issue,
                agent=setup.agent,
                engine=setup.engine,
                seeds=batch.seeds,
                guidance=second_attempts.create_guidance(tree, batch.hint) if batch.hint else None,
                repair_prompt=setup.repair_prompt,
                limits=reservation.limits,
                on_step=record_step,
                ledger=ledger,
            )
        except (Cancelled, InstallationPaused, Postponed, Fenced) as error:
            self._save_taken_back(
                context, task, ledger.build_records(attempts.TAKEN_BACK, str(error))
            )
            raise
        except AgentFailed as error:
            log.warning("an agent failed: %s", error)
            records = ledger.build_records(attempts.CRASHED, str(error))
        except ModelError as error:
            log.warning("an agent's language model failed: %s", error)
            records = ledger.build_records(StopReason.ENGINE.value, str(error))
        else:
            records = tuple(map(AttemptRecord.from_attempt, done))
        finally:
            with transaction(context.database) as connection:
                attempts.end_run(connection, reservation.id, ledger.cost)
        return tuple(_classify_record(record, ledger) for record in records)

    def _save_taken_back(
        self, context: Context, task: ProposalTask, records: Sequence[AttemptRecord]
    ) -> None:
        """Save attempts of a job that this worker lost: they have cost something."""
        with transaction(context.database) as connection:
            if evaluations.load(connection, task.evaluation.id) is not None:
                for record in records:
                    # The attempt keeps its hint unused and does not count.
                    paid = replace(record, guided_by=None, stop=attempts.TAKEN_BACK)
                    attempts.save(connection, task.place, paid)


def _load_task(
    connection: Connection, job: ProposePatches, ceilings: CeilingSettings
) -> ProposalTask | None:
    stored = groups.load_repository(connection, job.repository)
    evaluation = evaluations.load(connection, job.evaluation)
    if stored is None or evaluation is None or evaluation.state != "collected":
        return None
    if not evaluation.alternatives_wanted or evaluation.tree_base is None:
        return None
    issue = Issue(evaluation.title, evaluation.body)
    first = attempts.next_seed(connection, evaluation.group)
    own_limits = installation_controls.read_limits(connection, job.installation)
    config = budget.clip_to_limits(stored, ceilings, own_limits)
    place = Place(job.repository, evaluation.group, evaluation.tree_base, issue)
    hinted = hints.find_due(connection, place.group, [place.base], place.issue_sha256)
    seeds = range(first, first + evaluation.alternatives_wanted)
    return ProposalTask(evaluation, place, _plan_batches(seeds, hinted), config)


def _plan_batches(seeds: Sequence[int], hinted: Sequence[Hint]) -> tuple[AttemptBatch, ...]:
    """Plan the batches: second attempts first, each with its own hint (pure)."""
    second = [AttemptBatch((seed,), hint) for seed, hint in zip(seeds, hinted, strict=False)]
    rest = tuple(seeds[len(second) :])
    return (*second, AttemptBatch(rest)) if rest else tuple(second)


def _classify_record(record: AttemptRecord, ledger: UsageLedger) -> AttemptRecord:
    """Map an exhausted budget to `OVER_BUDGET`, a quoted hint to `QUOTES_HINT`."""
    if record.stop == StopReason.ENGINE.value and ledger.is_exhausted:
        return replace(record, stop=attempts.OVER_BUDGET)
    if record.quotes_hint:
        return replace(record, stop=attempts.QUOTES_HINT)
    return record


def _get_judgeable_patch(record: AttemptRecord) -> str | None:
    """Return the record's patch, or None when it quotes its hint (pure)."""
    return None if record.stop == attempts.QUOTES_HINT else record.patch


def _save_result(connection: Connection, task: ProposalTask, result: ProposalResult) -> None:
    """Save every attempt, and add patches with a new edit to the group."""
    evaluation = task.evaluation
    rivals = [candidate.diff for candidate in evaluation.candidates]
    rivals += [alternative.diff for alternative in evaluation.alternatives]
    new = find_new_edits(rivals, [_get_judgeable_patch(record) for record in result.records])
    alternatives, lacks = [], []
    for index, record in enumerate(result.records):
        number = attempts.next_number(connection, evaluation.group) if index in new else None
        kept = attempts.save(connection, task.place, record, number)
        if number is None or record.patch is None:
            lacks.append(attempts.explain_stop(record.stop))
            continue
        alternatives.append(
            Alternative(
                attempt=kept,
                number=number,
                agent=record.agent,
                model=record.engine.model,
                steps=record.steps,
                base_sha=task.place.base,
                diff=record.patch,
                guided_by=record.guided_by,
            )
        )
    lack = result.lack or (lacks[-1] if lacks else None)
    proposals.finish(connection, evaluation, alternatives, lack)
