"""Have an agent write rivals for one evaluation. This process reads what strangers wrote and holds nothing of GitHub's.

Whatever goes wrong with the agent, the group goes on without it: it is judged with empty seats.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from app.db.session import transaction
from app.db.store.alternatives import attempts, hints, proposals
from app.db.store.alternatives.attempts import Place, Record
from app.db.store.alternatives.hints import Hint
from app.db.store.issues import evaluations, groups
from app.db.store.issues.evaluation_alternatives import Alternative
from app.db.store.issues.evaluations import Evaluation
from app.db.store.queue import progress
from app.db.store.queue.jobs import Fenced
from app.jobs.job import Planned, ProposePatches, VerifyGroup
from app.policy.alternative_policy import WhyNot, has_budget, new_edits
from app.settings.repo_config import RepoConfig
from app.settings.sandbox_kind import Sandbox
from model.agents.trajectories.trajectory import Attempt, Step, Stop
from model.domain import EngineInfo, Issue
from model.errors import ModelError, Superseded
from model.protocols import Engine
from worker.agents import budget
from worker.agents.agent_process import AgentFailed
from worker.agents.budget import Run
from worker.agents.usage_ledger import Bill
from worker.git.tree_store import Trees
from worker.outcomes import second_attempts
from worker.queue.context import Context
from worker.queue.errors import Postponed
from worker.repositories.repository_config import last_good

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Workshop:
    """Who writes alternatives, and where."""

    agent: str
    """Its name in the catalogue."""
    engine: Engine
    sandbox: Sandbox


@dataclass(frozen=True, slots=True)
class Errand:
    """Attempts that are made side by side."""

    seeds: tuple[int, ...]
    hint: Hint | None = None
    """What was said against an earlier one, to which this is the second; None: nothing."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be written, and what it may cost."""

    evaluation: Evaluation
    place: Place
    errands: tuple[Errand, ...]
    config: RepoConfig
    """Its budget is the day's."""

    @property
    def seeds(self) -> tuple[int, ...]:
        """Of all attempts."""
        return tuple(seed for errand in self.errands for seed in errand.seeds)


@dataclass(frozen=True, slots=True)
class Made:
    """What came of it."""

    records: tuple[Record, ...] = ()
    lack: WhyNot | None = None
    """Why there was no further attempt; None: all that were wanted were made."""


@dataclass(frozen=True, slots=True)
class ProposePatchesHandler:
    """Runs the agent on the tree that was handed over, and has the group judged with what it wrote."""

    trees: Trees
    workshop: Callable[[], Workshop]
    """Made at the first use: loading a local model takes seconds that a worker's start need not."""
    run: Callable[..., tuple[Attempt, ...]]
    """`worker.agents.agent_process.run`, or what behaves like it."""

    def __call__(self, context: Context, job: ProposePatches) -> None:
        """Write, keep every attempt, go on. Work that nobody waits for any more ends quietly."""
        with transaction(context.database) as connection:
            task = _task(connection, job)
        goes_on = False
        try:
            if task is not None:
                self._finish(context, job, task, self._made(context, job, task))
        except Postponed:
            goes_on = True
            raise
        finally:  # whatever else it was, such as a repository that is gone: nobody reads this tree again
            if not goes_on:
                self.trees.discard(job.evaluation)

    def _finish(self, context: Context, job: ProposePatches, task: Task, made: Made) -> None:
        try:
            with context.transaction() as connection:
                _keep(connection, task, made)
                place = (job.installation, job.repository, job.issue, job.evaluation)
                context.enqueue(connection, [Planned(VerifyGroup(*place))])
        except Fenced:
            self._take_back(context, task, made.records)
            raise

    def _made(self, context: Context, job: ProposePatches, task: Task) -> Made:
        tree = self.trees.find(job.evaluation)
        if context.claimed.attempt > 1:  # what ended the first attempt may end the next one too
            return Made(lack=WhyNot.CRASHED)
        if tree is None:
            return Made(lack=WhyNot.NO_TREE)
        with transaction(context.database) as connection:
            if not has_budget(task.config, attempts.spent(connection, job.repository)):
                return Made(lack=WhyNot.BUDGET)
        try:
            workshop = self.workshop()
        except ModelError as error:
            log.warning("no agent: %s", error)
            return Made(lack=WhyNot.ENGINE)
        return self._all(context, workshop, task, tree)

    def _all(self, context: Context, workshop: Workshop, task: Task, tree: Path) -> Made:
        """One errand after the other, while the budget lasts."""
        records: list[Record] = []
        try:
            for errand in task.errands:
                with transaction(context.database) as connection:
                    where = (task.place.repository, task.config, len(errand.seeds))
                    run = budget.begun(connection, *where, waits=not records)
                if run is None:
                    return Made(tuple(records), WhyNot.BUDGET)
                made = self._attempted(context, workshop, task, errand, (tree, run))
                about = errand.hint.attempt if errand.hint else None
                records += [replace(record, guided_by=about) for record in made]
        except (Superseded, Postponed, Fenced):
            self._take_back(context, task, records)
            raise
        return Made(tuple(records))

    def _attempted(
        self,
        context: Context,
        workshop: Workshop,
        task: Task,
        errand: Errand,
        where: tuple[Path, Run],
    ) -> tuple[Record, ...]:
        """`where`: the tree, and what work on it may cost. However it ends, its run does."""
        tree, run = where
        engine = EngineInfo(workshop.engine.name, workshop.engine.model, "")
        bill = Bill(workshop.agent, engine, errand.seeds)

        def heard(at: int, step: Step) -> None:
            count = bill.add(at, step)
            context.check()
            number = task.seeds.index(errand.seeds[at]) + 1
            said = f"attempt {number} of {len(task.seeds)}, step {count}"
            with context.transaction() as connection:
                progress.set_progress(connection, context.claimed, said)

        try:
            done = self.run(
                tree,
                task.place.issue,
                agent=workshop.agent,
                engine=workshop.engine,
                seeds=errand.seeds,
                guidance=second_attempts.guidance(tree, errand.hint) if errand.hint else None,
                limits=run.limits,
                on_step=heard,
                sandbox=workshop.sandbox,
                bill=bill,
            )
        except (Superseded, Postponed, Fenced) as error:
            self._take_back(context, task, bill.records(attempts.TAKEN_BACK, str(error)))
            raise
        except AgentFailed as error:
            log.warning("an agent failed: %s", error)
            made = bill.records(attempts.CRASHED, str(error))
        except ModelError as error:
            log.warning("an agent's language model failed: %s", error)
            made = bill.records(Stop.ENGINE.value, str(error))
        else:
            made = tuple(map(Record.of, done))
        finally:
            with transaction(context.database) as connection:
                attempts.end_run(connection, run.id, bill.cost)
        return tuple(_ended(one, bill) for one in made)

    def _take_back(self, context: Context, task: Task, records: Sequence[Record]) -> None:
        """What was done was done, whoever has the job by now."""
        with transaction(context.database) as connection:
            if evaluations.load(connection, task.evaluation.id) is not None:
                for record in records:
                    # It uses no hint up, and counts for nothing.
                    paid = replace(record, guided_by=None, stop=attempts.TAKEN_BACK)
                    attempts.save(connection, task.place, paid)


def _task(connection: Connection, job: ProposePatches) -> Task | None:
    stored = groups.repository(connection, job.repository)
    evaluation = evaluations.load(connection, job.evaluation)
    if stored is None or evaluation is None or evaluation.state != "collected":
        return None
    if not evaluation.alternatives_wanted or evaluation.alternatives_base is None:
        return None
    issue = Issue(evaluation.title, evaluation.body)
    first = attempts.next_seed(connection, evaluation.group)
    config = last_good(stored.config_text)
    place = Place(job.repository, evaluation.group, evaluation.alternatives_base, issue)
    seeds = range(first, first + evaluation.alternatives_wanted)
    hinted = hints.due(connection, place.group, [place.base], place.issue_sha256)
    return Task(
        evaluation=evaluation,
        place=place,
        errands=_errands(seeds, hinted),
        config=config,
    )


def _errands(seeds: Sequence[int], hinted: Sequence[Hint]) -> tuple[Errand, ...]:
    """Second attempts come first, each with its own hint (pure)."""
    second = [Errand((seed,), hint) for seed, hint in zip(seeds, hinted, strict=False)]
    rest = tuple(seeds[len(second) :])
    return (*second, Errand(rest)) if rest else tuple(second)


def _ended(record: Record, bill: Bill) -> Record:
    """To an agent a budget that is used up is an engine that fails; and a patch that repeats its hint is none to it."""
    if record.stop == Stop.ENGINE.value and bill.is_used_up:
        return replace(record, stop=attempts.OVER_BUDGET)
    if record.quotes_hint:
        return replace(record, stop=attempts.QUOTES_HINT)
    return record


def _rival(record: Record) -> str | None:
    """The patch, if it may be judged (pure)."""
    return None if record.stop == attempts.QUOTES_HINT else record.patch


def _keep(connection: Connection, task: Task, made: Made) -> None:
    """Every attempt, and those that make a new edit as rivals."""
    evaluation = task.evaluation
    rivals = [judged.candidate.diff for judged in evaluation.judged]
    rivals += [one.diff for one in evaluation.alternatives]
    new = new_edits(rivals, [_rival(record) for record in made.records])
    more, lacks = [], []
    for at, record in enumerate(made.records):
        number = attempts.next_number(connection, evaluation.group) if at in new else None
        kept = attempts.save(connection, task.place, record, number)
        if number is None or record.patch is None:
            lacks.append(attempts.why_not(record.stop))
            continue
        more.append(
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
    lack = made.lack or (lacks[-1] if lacks else None)
    proposals.finish(connection, evaluation, more, lack)
