"""The worker's composition root: settings to handlers, each made when its first job comes.

A process is only asked for the settings that its queues' jobs need, so one that judges holds no key.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from app import logs
from app.db.session import engine
from app.db.store.queue.effects import PostgresEffects
from app.db.store.queue.etags import PostgresEtags
from app.db.store.queue.write_limits import PostgresLimiter
from app.dispatch import Doorbell
from app.github.api.draft_publisher import Drafts
from app.github.endpoints import endpoints
from app.github.http.auth import App
from app.github.http.connection import Connection as GitHub
from app.jobs.draft_jobs import OpenDraft, TellDraft
from app.jobs.job import (
    EvaluateIssue,
    ForgetCheckout,
    Job,
    LocateIssues,
    ProposePatches,
    PublishVerdict,
    PurgeData,
    Reconcile,
    RecordEvent,
    Redeliver,
    RefreshConfig,
    RunCommand,
    TidyCheckouts,
    VerifyGroup,
)
from app.jobs.learning_jobs import RefitCalibrators, TrainModel, UnloadAdapters
from app.jobs.outcome_jobs import HearReview, MeasureSurvival, PollReactions, ResolvePermission
from app.operator.processes import told_elsewhere
from app.settings import (
    BrokerSettings,
    DatabaseSettings,
    EngineSettings,
    QueueSettings,
    TrainSettings,
    WriterSettings,
    load,
)
from worker.agents import agent_process
from worker.agents.propose import ProposePatchesHandler
from worker.commands.issue_commands import Verbs
from worker.commands.run_command import RunCommandHandler
from worker.components import Parts
from worker.git.tree_export import Exports
from worker.judging.collect import EvaluateIssueHandler
from worker.judging.locate_issues import LocateIssuesHandler
from worker.judging.reconcile import ReconcileHandler, due_repositories
from worker.judging.rivals import Collector
from worker.judging.tree_handover import HandOver
from worker.judging.verify import VerifyGroupHandler
from worker.learning.launchers import catalog as launchers
from worker.learning.refit_calibrators import RefitCalibratorsHandler, due_calibrators
from worker.learning.register_model import Registrar
from worker.learning.train_model import TrainModelHandler, due_training
from worker.learning.unload_adapters import UnloadAdaptersHandler, due_unloads
from worker.outcomes.observe_outcomes import (
    MeasureSurvivalHandler,
    PollReactionsHandler,
    ResolvePermissionHandler,
    due_reactions,
)
from worker.outcomes.record_event import RecordEventHandler
from worker.outcomes.review_hints import HearReviewHandler
from worker.publishing.open_draft import OpenDraftHandler
from worker.publishing.publish_verdict import PublishVerdictHandler
from worker.publishing.replies import Replies
from worker.publishing.tell_draft import TellDraftHandler
from worker.queue.context import Context, Handler
from worker.queue.runner import Runner
from worker.queue.tasks import Runtime
from worker.queue.upkeep import Tick, Upkeep
from worker.repositories.forget import (
    ForgetCheckoutHandler,
    PurgeDataHandler,
    TidyCheckoutsHandler,
    due_checkouts,
)
from worker.repositories.redeliver import RedeliverHandler, due_redeliveries
from worker.repositories.repository_config import RefreshConfigHandler


@dataclass(slots=True)
class Lazy:
    """A handler that is made when its first job comes."""

    make: Callable[[], Handler]
    made: Handler | None = field(default=None)

    def __call__(self, context: Context, job: Any, /) -> None:
        """Carry the job out."""
        self.made = self.made or self.make()
        self.made(context, job)


def _record_event(parts: Parts) -> Handler:
    identity = parts.identity
    return RecordEventHandler(
        own_app=identity.app_id,
        mention=identity.bot_name,
        host=identity.host,
        day_seconds=parts.pace.day_seconds,
        least_quiet_seconds=parts.pace.debounce_seconds,
    )


def _evaluate_issue(parts: Parts) -> Handler:
    collector = Collector(parts.github, parts.checkouts, parts.identity.host)
    handover = HandOver(parts.github, parts.checkouts, Exports(parts.agents.trees))
    return EvaluateIssueHandler(
        collector, handover, Replies(parts.publisher), parts.writer is not None
    )


def _propose_patches(parts: Parts) -> Handler:
    return ProposePatchesHandler(parts.trees, lambda: parts.workshop, agent_process.run)


def _run_command(parts: Parts) -> Handler:
    github, publisher = parts.github, parts.publisher
    mention = parts.identity.bot_name
    verbs = Verbs(github, parts.writer, parts.identity.writer_app_id is not None)
    return RunCommandHandler(github, publisher, Replies(publisher), verbs, mention)


def _publish_verdict(parts: Parts) -> Handler:
    return PublishVerdictHandler(
        parts.github,
        parts.publisher,
        parts.pace.debounce_seconds,
        has_writer=parts.identity.writer_app_id is not None,
    )


def _open_draft(parts: Parts) -> Handler:
    settings = load(WriterSettings)
    url = endpoints(settings.github_url)
    app = App(settings.writer_app_id, settings.key())
    limits, etags = PostgresLimiter(parts.database), PostgresEtags(parts.database)
    github = GitHub.open(app, url, limits, etags)
    return OpenDraftHandler(Drafts(github, PostgresEffects(parts.database)), url)


def _train_model(_parts: Parts) -> Handler:
    settings = load(TrainSettings)
    registrar = Registrar(settings.promote, lambda: load(EngineSettings), settings.rules)
    return TrainModelHandler(
        settings=settings,
        launcher=launchers.of(settings),
        register=registrar,
        against=registrar.against,
        database_url=load(DatabaseSettings).database_url,
        told=told_elsewhere(),
    )


_MAKERS: Final[Mapping[type[Job], Callable[[Parts], Handler]]] = {
    RecordEvent: _record_event,
    LocateIssues: lambda parts: LocateIssuesHandler(
        parts.github, parts.publisher, parts.pace.debounce_seconds
    ),
    EvaluateIssue: _evaluate_issue,
    ProposePatches: _propose_patches,
    VerifyGroup: lambda parts: VerifyGroupHandler(lambda: parts.bench, parts.trained),
    PublishVerdict: _publish_verdict,
    OpenDraft: _open_draft,
    TellDraft: lambda parts: TellDraftHandler(Replies(parts.publisher)),
    RunCommand: _run_command,
    RefreshConfig: lambda parts: RefreshConfigHandler(parts.github),
    ResolvePermission: lambda parts: ResolvePermissionHandler(parts.github),
    HearReview: lambda parts: HearReviewHandler(parts.github),
    PollReactions: lambda parts: PollReactionsHandler(parts.github),
    MeasureSurvival: lambda parts: MeasureSurvivalHandler(parts.github, parts.checkouts),
    Reconcile: lambda parts: ReconcileHandler(parts.github, parts.pace.debounce_seconds),
    PurgeData: lambda parts: PurgeDataHandler(parts.github),
    ForgetCheckout: lambda parts: ForgetCheckoutHandler(parts.checkouts, parts.trees),
    TidyCheckouts: lambda parts: TidyCheckoutsHandler(parts.checkouts, parts.trees),
    Redeliver: lambda parts: RedeliverHandler(parts.github),
    RefitCalibrators: lambda _parts: RefitCalibratorsHandler(load(DatabaseSettings).database_url),
    UnloadAdapters: lambda _parts: UnloadAdaptersHandler(lambda: load(EngineSettings)),
    TrainModel: _train_model,
}

HANDLED: Final = frozenset(job.kind for job in _MAKERS)
"""Every kind of job that there is a use case for."""

TICKS: Final[Mapping[str, Tick]] = {
    "reconcile": due_repositories,
    "reactions": due_reactions,
    "redeliver": due_redeliveries,
    "checkouts": due_checkouts,
    "calibrators": due_calibrators,
    "training": due_training,
    "adapters": due_unloads,
}
"""The clock's rules by name."""


def handlers(parts: Parts) -> dict[str, Handler]:
    """Every kind of job and the use case that carries it out."""
    return {job.kind: Lazy(partial(make, parts)) for job, make in _MAKERS.items()}


def runtime(pace: QueueSettings, broker: BrokerSettings, stopping: Callable[[], bool]) -> Runtime:
    """What this worker process works with; opens its own connections."""
    database_url = load(DatabaseSettings).database_url
    logs.hide_passwords(database_url, broker.redis_url)
    database = engine(database_url, pool_size=4)
    doorbell = Doorbell(broker.redis_url)
    return Runtime(
        Runner(database, handlers(Parts(database, pace)), doorbell, pace, stopping),
        Upkeep(database, doorbell, pace, TICKS),
    )
