"""Connect each kind of job to its handler; a handler is built when its first job comes.

A process reads only the settings that its queues need, so a judging process holds no key.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from functools import cache, partial
from typing import Any, Final

from sqlalchemy import Connection

from app import logs, tracing
from app.db.session import create_database_engine
from app.dispatch import Doorbell
from app.jobs.draft_jobs import OpenDraft, TellDraft
from app.jobs.job import (
    EvaluateIssue,
    ForgetCheckout,
    Job,
    LocateIssues,
    Planned,
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
from app.jobs.learning_jobs import ChangeModel, RefitCalibrators, TrainModel, UnloadAdapters
from app.jobs.onboarding_jobs import OfferOnboarding, OpenOnboarding
from app.jobs.outcome_jobs import (
    CheckClaims,
    HearReview,
    MeasureSurvival,
    PollReactions,
    RecordOpinion,
    ResolvePermission,
)
from app.jobs.suite_jobs import PrepareTests, RunTests, WriteTests
from app.learning.training_plan import LauncherKind as Name
from app.operator.processes import remote_environment
from app.policy.delivery_decision import build_decide
from app.settings import (
    AccountSettings,
    BrokerSettings,
    CeilingSettings,
    DatabaseSettings,
    EngineSettings,
    GateSettings,
    LogSettings,
    QueueSettings,
    RetentionSettings,
    TrainSettings,
    load,
)
from model import catalog
from worker.agents import agent_process
from worker.agents.propose import ProposePatchesHandler
from worker.commands.issue_commands import IssueCommands
from worker.commands.page_opinion import record_opinion
from worker.commands.run_command import RunCommandHandler
from worker.components import Components
from worker.git.tree_export import TreeExporter
from worker.judging.ceilings import CeilingGuard
from worker.judging.collect import EvaluateIssueHandler
from worker.judging.locate_issues import locate_issues
from worker.judging.prepare_tests import PrepareTestsHandler
from worker.judging.reconcile import plan_reconciliation
from worker.judging.rivals import RivalCollector
from worker.judging.tree_handover import TreeHandover
from worker.judging.verify import VerifyGroupHandler
from worker.learning.change_model import ChangeModelHandler
from worker.learning.launchers import kubernetes, local, ray, slurm
from worker.learning.launchers.task import Launcher
from worker.learning.refit_calibrators import plan_refit, refit_calibrators
from worker.learning.register_model import Registrar
from worker.learning.train_model import TrainModelHandler, plan_training
from worker.learning.unload_adapters import plan_unloads, unload_adapters
from worker.outcomes import observe_outcomes
from worker.outcomes.claim_checks import check_claims
from worker.outcomes.record_event import RecordEventHandler
from worker.outcomes.review_hints import hear_review
from worker.publishing.open_draft import OpenDraftHandler
from worker.publishing.open_onboarding import OpenOnboardingHandler
from worker.publishing.publish_verdict import PublishVerdictHandler
from worker.publishing.replies import tell_draft
from worker.queue.context import Context, Handler
from worker.queue.runner import Runner
from worker.queue.tasks import Runtime
from worker.queue.upkeep import Tick, Upkeep
from worker.repositories import forget
from worker.repositories.missed_changes import MissedChanges
from worker.repositories.offer_onboarding import offer_onboarding
from worker.repositories.poll_deliveries import DeliveryPoller
from worker.repositories.redeliver import plan_redelivery, request_redeliveries
from worker.repositories.repository_config import refresh_config
from worker.testing.run_tests import RunTestsHandler
from worker.testing.write_tests import WriteTestsHandler


def _record_event(parts: Components) -> Handler:
    identity = parts.identity
    return RecordEventHandler(
        own_app=identity.app_id,
        mention=identity.bot_name,
        host=identity.host,
        day_seconds=parts.pace.day_seconds,
        least_quiet_seconds=parts.pace.debounce_seconds,
        has_onboarding=identity.onboarding,
    )


def _evaluate_issue(parts: Components) -> Handler:
    collector = RivalCollector(parts.github, parts.checkouts, parts.identity.host)
    handover = TreeHandover(parts.github, parts.checkouts, TreeExporter(parts.agent_settings.trees))
    guard, has_agent = CeilingGuard(load(CeilingSettings)), parts.agent_description is not None
    return EvaluateIssueHandler(collector, handover, has_agent, guard, parts.reads_code)


def _prepare_tests(parts: Components) -> Handler:
    exporter = TreeExporter(parts.suite_settings.tests_trees)
    handover = TreeHandover(parts.github, parts.checkouts, exporter)
    has_model = catalog.has_writing_model(parts.agent_settings.verifier)
    return PrepareTestsHandler(handover, parts.suite_settings, load(CeilingSettings), has_model)


def _propose_patches(parts: Components) -> Handler:
    return ProposePatchesHandler(
        parts.tree_store,
        lambda: parts.agent_setup,
        agent_process.run_agent,
        load(CeilingSettings),
        parts.reads_code,
    )


def _run_command(parts: Components) -> Handler:
    github, mention = parts.github, parts.identity.bot_name
    verbs = IssueCommands(github, parts.agent_description, parts.identity.writer_app_id is not None)
    return RunCommandHandler(github, verbs, mention, load(CeilingSettings))


def _publish_verdict(parts: Components) -> Handler:
    return PublishVerdictHandler(
        parts.github,
        parts.pace.debounce_seconds,
        has_writer=parts.identity.writer_app_id is not None,
        tests_wait_seconds=parts.suite_settings.tests_wait_seconds,
        tests_claim=parts.suite_settings.tests_claim,
    )


def _train_model(_parts: Components) -> Handler:
    settings = load(TrainSettings)
    registrar = Registrar(settings.promote, lambda: load(EngineSettings), settings.rules)
    return TrainModelHandler(
        settings=settings,
        launcher=create_launcher(settings),
        register=registrar,
        comparison_arguments=registrar.build_comparison_arguments,
        database_url=load(DatabaseSettings).database_url,
        task_environment=remote_environment(),
    )


def _fetch_lost_webhooks(parts: Components) -> Handler:
    """Read webhooks from GitHub's list if the bot polls; otherwise ask GitHub to send the lost ones again."""
    if parts.identity.ingress == "webhook":
        return partial(request_redeliveries, parts.github)
    allowed = frozenset(load(AccountSettings).allowed_accounts)
    return DeliveryPoller(parts.github, build_decide(parts.identity, allowed))


def _plan_reconciliation(connection: Connection) -> Sequence[Planned]:
    return plan_reconciliation(connection, load(AccountSettings).allowed_accounts)


_MAKERS: Final[Mapping[type[Job], Callable[[Components], Handler]]] = {
    RecordEvent: _record_event,
    LocateIssues: lambda parts: partial(locate_issues, parts.github, parts.pace.debounce_seconds),
    EvaluateIssue: _evaluate_issue,
    ProposePatches: _propose_patches,
    PrepareTests: _prepare_tests,
    WriteTests: lambda parts: WriteTestsHandler(lambda: parts.engine),
    RunTests: lambda parts: RunTestsHandler(parts.suite_trees, parts.suite_settings),
    VerifyGroup: lambda parts: VerifyGroupHandler(lambda: parts.judge_setup, parts.adapter_models),
    PublishVerdict: _publish_verdict,
    OpenDraft: lambda parts: OpenDraftHandler(parts.writer_github, parts.web),
    OpenOnboarding: lambda parts: OpenOnboardingHandler(parts.writer_github, parts.web),
    OfferOnboarding: lambda parts: partial(offer_onboarding, parts.github),
    TellDraft: lambda parts: partial(tell_draft, parts.github),
    RunCommand: _run_command,
    RefreshConfig: lambda parts: partial(refresh_config, parts.github),
    ResolvePermission: lambda parts: partial(observe_outcomes.resolve_permission, parts.github),
    CheckClaims: lambda parts: partial(check_claims, parts.github, parts.checkouts),
    HearReview: lambda parts: partial(hear_review, parts.github),
    RecordOpinion: lambda parts: partial(record_opinion, parts.github),
    PollReactions: lambda parts: partial(observe_outcomes.poll_reactions, parts.github),
    MeasureSurvival: lambda parts: partial(
        observe_outcomes.measure_survival, parts.github, parts.checkouts
    ),
    Reconcile: lambda parts: MissedChanges(
        parts.github,
        parts.pace.debounce_seconds,
        parts.identity.bot_name,
        timedelta(seconds=parts.pace.reconcile_seconds),
    ),
    PurgeData: lambda parts: partial(forget.purge_data, parts.github),
    ForgetCheckout: lambda parts: partial(
        forget.forget_checkout, parts.checkouts, parts.tree_store, parts.suite_trees
    ),
    TidyCheckouts: lambda parts: partial(
        forget.tidy_checkouts, parts.checkouts, parts.tree_store, parts.suite_trees
    ),
    Redeliver: _fetch_lost_webhooks,
    RefitCalibrators: lambda _parts: partial(
        refit_calibrators, load(DatabaseSettings).database_url
    ),
    UnloadAdapters: lambda _parts: partial(unload_adapters, lambda: load(EngineSettings)),
    TrainModel: _train_model,
    ChangeModel: lambda _parts: ChangeModelHandler(
        lambda: load(EngineSettings), lambda: load(GateSettings).rules
    ),
}

HANDLED: Final = frozenset(job.kind for job in _MAKERS)
"""Every kind of job that has a handler."""

TICKS: Final[Mapping[str, Tick]] = {
    "reconcile": _plan_reconciliation,
    "reactions": observe_outcomes.plan_reaction_polls,
    "redeliver": plan_redelivery,
    "checkouts": forget.plan_checkout_cleanup,
    "calibrators": plan_refit,
    "training": plan_training,
    "adapters": plan_unloads,
}
"""Periodic rules by name."""


def build_handlers(parts: Components) -> dict[str, Handler]:
    """Return the handlers of all kinds of jobs: a dict from the kind's name to its handler.

    Each handler is built, from the shared objects in `parts`, when its first job comes.
    """
    return {job.kind: _postpone_building(partial(make, parts)) for job, make in _MAKERS.items()}


def _postpone_building(make: Callable[[], Handler]) -> Handler:
    build = cache(make)

    def handle(context: Context, job: Any) -> None:
        build()(context, job)

    return handle


def create_runtime(
    pace: QueueSettings, broker: BrokerSettings, stopping: Callable[[], bool]
) -> Runtime:
    """Create the objects with which a worker process runs jobs at the queue's `pace`, until `stopping` returns true."""
    database_url = load(DatabaseSettings).database_url
    logs.hide_passwords(database_url, broker.redis_url)
    tracing.configure(load(LogSettings), "worker")
    database = create_database_engine(database_url, pool_size=4, process="worker")
    doorbell = Doorbell(broker.redis_url)
    return Runtime(
        Runner(database, build_handlers(Components(database, pace)), doorbell, pace, stopping),
        Upkeep(database, doorbell, pace, TICKS, load(RetentionSettings)),
    )


def create_launcher(settings: TrainSettings) -> Launcher:
    """Create the launcher that the settings choose for training stages: SLURM, Ray, Kubernetes or local."""
    match settings.train_launcher:
        case Name.SLURM:
            return slurm.Slurm(settings.train_gpus, settings.train_options)
        case Name.RAY:
            return ray.Ray(settings.train_address, settings.train_gpus, settings.train_options)
        case Name.KUBERNETES:
            return kubernetes.Kubernetes(
                image=settings.train_image or "",
                claim=settings.train_claim or "",
                mount=settings.train_dir.resolve(),
                namespace=settings.train_namespace,
                gpus=settings.train_gpus,
            )
    return local.Local()
