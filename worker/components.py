"""Build the objects that job handlers share, such as the GitHub connection and the verifier.

Each object is built, and its settings are read, at its first use.
"""

import logging
from dataclasses import dataclass, field, replace
from functools import cache, cached_property

import sqlalchemy

from app.db.store.queue.github_state import PostgresEtags, PostgresLimiter
from app.github.endpoints import Endpoints, build_endpoints
from app.github.http.auth import App
from app.github.http.connection import GitHub
from app.github.redaction import remember
from app.learning.model_serving import Adapter
from app.registry import promotion
from app.settings import (
    AgentSettings,
    EngineSettings,
    GitHubSettings,
    IdentitySettings,
    QueueSettings,
    SuiteSettings,
    WriterSettings,
    load,
)
from model import catalog
from model.catalog import EngineChoice, VotingChoice
from model.engines.server_check import UNKNOWN_SPECIAL_TOKENS
from model.errors import EngineDown, TemplateError
from model.protocols import Engine, Verifier
from model.verifiers import judge_prompts
from model.verifiers.reports import rubric_source
from model.verifiers.reports.rubric_source import TreeReaders
from worker.agents.propose import AgentSetup
from worker.commands.command_subject import AgentDescription
from worker.git.checkout import Checkouts
from worker.git.tree_store import TreeStore
from worker.judging.base_code import CodeSource
from worker.judging.rubric_writer import RubricWriter
from worker.judging.trained_models import JudgeSetup, TrainedModels

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Components:
    """The objects that job handlers share, such as the GitHub connection, built at their first use."""

    database: sqlalchemy.Engine
    pace: QueueSettings
    judge_setups: dict[str, JudgeSetup] = field(default_factory=dict)
    """The judges with a trained adapter that were loaded so far, by the adapter's name."""

    @cached_property
    def identity(self) -> IdentitySettings:
        """The settings that identify the GitHub App, such as its id; they hold no secret."""
        return load(IdentitySettings)

    @cached_property
    def github(self) -> GitHub:
        """The connection to GitHub as the bot's App."""
        settings = load(GitHubSettings)
        app = App(settings.app_id, settings.read_key())
        url = build_endpoints(settings.github_url)
        return GitHub.open(app, url, PostgresLimiter(self.database), PostgresEtags(self.database))

    @cached_property
    def writer_github(self) -> GitHub:
        """The connection to GitHub as the writer App, which opens pull requests."""
        settings = load(WriterSettings)
        app = App(settings.writer_app_id, settings.read_key())
        limits, etags = PostgresLimiter(self.database), PostgresEtags(self.database)
        return GitHub.open(app, self.web, limits, etags)

    @cached_property
    def web(self) -> Endpoints:
        """The addresses of GitHub: of its API, its pages and its git server."""
        return build_endpoints(self.identity.github_url)

    @cached_property
    def checkouts(self) -> Checkouts:
        """The bare git repositories on disk, into which pull requests are fetched."""
        settings = load(GitHubSettings)
        return Checkouts(settings.checkout_dir, build_endpoints(settings.github_url))

    @cached_property
    def judge_setup(self) -> JudgeSetup:
        """The judge that the settings choose: its verifier, and consensus as a second one (the prior).

        The prior's scores are stored beside the votes. A verifier without an engine has none. The first use loads an
        embedded model.
        """
        settings = load(EngineSettings)
        name = settings.verifier
        if not catalog.needs_engine(name):
            voting = VotingChoice(edited_lines=settings.min_lines)
            return JudgeSetup(name, catalog.load_verifier(name, None, voting=voting))
        verifier, prior = (
            self._create_verifier(settings),
            catalog.load_consensus(settings.min_lines),
        )
        return JudgeSetup(name, verifier, prior, self._create_code_source(settings))

    @cached_property
    def adapter_models(self) -> TrainedModels | None:
        """Trained models that may judge in place of the base model; None if the engine cannot load adapters."""
        settings = load(EngineSettings)
        if settings.engine_name != "openai_compatible" or not catalog.has_writing_model(
            settings.verifier
        ):
            return None
        return TrainedModels(settings.verifier, self._create_trained_judge)

    @cached_property
    def agent_settings(self) -> AgentSettings:
        """The operator's settings of the agent that writes alternatives."""
        return load(AgentSettings)

    @cached_property
    def reads_code(self) -> bool:
        """Whether the judge reads code of the base: its prompt shows some, or it writes checklists.

        An unreadable prompt shows none, and the log has a warning.
        """
        settings = self.agent_settings
        if not catalog.has_writing_model(settings.verifier):
            return False
        try:
            parts = catalog.parse_verifier_name(settings.verifier)
            return rubric_source.VERIFIER in parts or judge_prompts.shows_code(
                parts, settings.prompt
            )
        except TemplateError as error:
            log.warning("no tree is kept for judges: %s", error)
            return False

    @property
    def tree_store(self) -> TreeStore:
        """The folder in which exported source trees wait for agents."""
        return TreeStore(self.agent_settings.trees)

    @cached_property
    def suite_settings(self) -> SuiteSettings:
        """The operator's settings of the tests of repositories."""
        return load(SuiteSettings)

    @property
    def suite_trees(self) -> TreeStore:
        """The folder in which exported source trees wait for tests."""
        return TreeStore(self.suite_settings.tests_trees)

    @cached_property
    def engine(self) -> Engine:
        """The language model that the settings choose; the first use loads an embedded model."""
        return _load_engine(_choose_engine(load(EngineSettings)))

    @cached_property
    def agent_setup(self) -> AgentSetup:
        """The agent that the settings choose, with its language model; the first use loads an embedded model."""
        settings = self.agent_settings
        return AgentSetup(settings.agent, self.engine, settings.repair_prompt)

    @property
    def agent_description(self) -> AgentDescription | None:
        """The agent's name and its model's name, for replies; None if the settings name no model that writes."""
        if not catalog.has_writing_model(self.agent_settings.verifier):
            return None
        return AgentDescription(self.agent_settings.agent, self.agent_settings.model)

    def _create_trained_judge(self, adapter: Adapter) -> JudgeSetup:
        """Create the verifier that asks an adapter, after loading the adapter into servers that
        lack it.
        """
        settings = load(EngineSettings)
        if not promotion.reload_adapter(promotion.list_replicas(settings), adapter):
            raise EngineDown(f"no server serves {adapter.name}; see the log for each")
        if adapter.name not in self.judge_setups:
            beside = catalog.load_consensus(settings.min_lines)
            run = adapter.probe.parent if adapter.probe else adapter.directory.parent
            prompt = judge_prompts.choose_trained_prompt(run, settings.prompt)
            asked = settings.model_copy(update={"prompt": prompt})
            verifier = self._create_verifier(asked, adapter.name)
            self.judge_setups[adapter.name] = JudgeSetup(settings.verifier, verifier, beside)
        return self.judge_setups[adapter.name]

    def _create_code_source(self, settings: EngineSettings) -> CodeSource | None:
        """Create the source of code for the judge of the settings; None if it reads none.

        A trained model gets no code, because it learnt without any.
        """
        parts = catalog.parse_verifier_name(settings.verifier)
        shows_code = judge_prompts.shows_code(parts, settings.prompt)
        writer = RubricWriter(self.engine) if rubric_source.VERIFIER in parts else None
        if not shows_code and writer is None:
            return None

        def build(readers: TreeReaders) -> Verifier:
            return self._create_verifier(settings, readers=readers)

        return CodeSource(self.tree_store, build, shows_code, writer)

    def _create_verifier(
        self,
        settings: EngineSettings,
        model: str | None = None,
        readers: TreeReaders | None = None,
    ) -> Verifier:
        engine = (
            self.engine
            if model is None
            else _load_engine(replace(_choose_engine(settings), model=model))
        )
        return catalog.load_verifier(
            settings.verifier,
            engine,
            prompt=settings.prompt,
            voting=VotingChoice(settings.stop_early, settings.min_lines, settings.leave_one_out),
            readers=readers,
        )


def _load_engine(choice: EngineChoice) -> Engine:
    engine = catalog.load_engine(choice)
    if engine.special_tokens is None:
        _warn_of_special_tokens()
    return engine


@cache
def _warn_of_special_tokens() -> None:
    """Log once in a process that the engine's special tokens are unknown."""
    log.warning(UNKNOWN_SPECIAL_TOKENS)


def _choose_engine(settings: EngineSettings) -> EngineChoice:
    key = settings.engine_api_key
    remember(key.get_secret_value() if key else "")
    return EngineChoice(
        name=settings.engine_name,
        model=settings.model,
        url=settings.engine_url,
        api_key=key.get_secret_value() if key else None,
        cache=settings.model_dir,
        script=settings.engine_script,
    )
