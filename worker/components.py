"""What handlers are made of: each part is made, and its settings read, at its first use."""

from dataclasses import dataclass, field, replace
from functools import cached_property

from sqlalchemy import Engine

from app.db.store.queue.effects import PostgresEffects
from app.db.store.queue.etags import PostgresEtags
from app.db.store.queue.write_limits import PostgresLimiter
from app.github.api.publisher import Publisher
from app.github.endpoints import endpoints
from app.github.http.auth import App
from app.github.http.connection import Connection as GitHub
from app.github.redaction import remember
from app.learning.model_serving import Adapter
from app.registry import promotion
from app.settings import (
    AgentSettings,
    EngineSettings,
    GitHubSettings,
    IdentitySettings,
    QueueSettings,
    load,
)
from model import catalog
from model.catalog import EngineChoice, VotingChoice
from model.errors import EngineDown
from model.protocols import Verifier
from worker.agents.propose import Workshop
from worker.commands.issue_commands import Writer
from worker.git.checkout import Checkouts
from worker.git.tree_store import Trees
from worker.judging.judge import Bench
from worker.judging.trained_models import Trained


@dataclass(frozen=True)
class Parts:
    """What handlers are made of; each part is made, and its settings read, at its first use."""

    database: Engine
    pace: QueueSettings
    benches: dict[str, Bench] = field(default_factory=dict)
    """Of trained models, by name."""

    @cached_property
    def identity(self) -> IdentitySettings:
        """Who we are, without a secret."""
        return load(IdentitySettings)

    @cached_property
    def github(self) -> GitHub:
        """GitHub as our App."""
        settings = load(GitHubSettings)
        app = App(settings.app_id, settings.key())
        url = endpoints(settings.github_url)
        return GitHub.open(app, url, PostgresLimiter(self.database), PostgresEtags(self.database))

    @cached_property
    def publisher(self) -> Publisher:
        """The only hand that writes on GitHub."""
        return Publisher(self.github, PostgresEffects(self.database))

    @cached_property
    def checkouts(self) -> Checkouts:
        """Bare repositories to fetch into."""
        settings = load(GitHubSettings)
        return Checkouts(settings.checkout_dir, endpoints(settings.github_url))

    @cached_property
    def bench(self) -> Bench:
        """The verifier that the settings name, and consensus beside it; an embedded model is loaded now."""
        settings = load(EngineSettings)
        name = settings.verifier
        if name in catalog.WITHOUT_ENGINE:
            return Bench(name, catalog.consensus(settings.min_lines))
        return Bench(name, self._asking(settings), catalog.consensus(settings.min_lines))

    @cached_property
    def trained(self) -> Trained | None:
        """Trained models that may judge in its place; None where the engine takes none."""
        settings = load(EngineSettings)
        if settings.chosen != "openai_compatible" or settings.verifier in catalog.WITHOUT_ENGINE:
            return None
        return Trained(settings.verifier, self._trained_bench)

    @cached_property
    def agents(self) -> AgentSettings:
        """Who writes alternatives, and where."""
        return load(AgentSettings)

    @property
    def trees(self) -> Trees:
        """Where source trees are handed over."""
        return Trees(self.agents.trees)

    @cached_property
    def workshop(self) -> Workshop:
        """The agent that the settings name, with a language model; an embedded one is loaded now."""
        engine = catalog.engine(_engine_choice(load(EngineSettings)))
        return Workshop(self.agents.agent, engine, self.agents.agent_sandbox)

    @property
    def writer(self) -> Writer | None:
        """Who writes alternatives; None where there is no language model to write with."""
        if self.agents.verifier in catalog.WITHOUT_ENGINE:
            return None
        return Writer(self.agents.agent, self.agents.model)

    def _trained_bench(self, adapter: Adapter) -> Bench:
        """The verifier that asks an adapter. A server that was started anew is given it again."""
        settings = load(EngineSettings)
        if not promotion.bring_back(promotion.replicas(settings), adapter):
            raise EngineDown(f"no server serves {adapter.name}; see the log for each")
        if adapter.name not in self.benches:
            beside = catalog.consensus(settings.min_lines)
            verifier = self._asking(settings, adapter.name)
            self.benches[adapter.name] = Bench(settings.verifier, verifier, beside)
        return self.benches[adapter.name]

    def _asking(self, settings: EngineSettings, model: str | None = None) -> Verifier:
        choice = _engine_choice(settings)
        return catalog.verifier(
            settings.verifier,
            catalog.engine(replace(choice, model=model or choice.model)),
            prompt=settings.prompt,
            voting=VotingChoice(settings.stop_early, settings.min_lines, settings.leave_one_out),
        )


def _engine_choice(settings: EngineSettings) -> EngineChoice:
    key = settings.engine_api_key
    remember(key.get_secret_value() if key else "")
    return EngineChoice(
        name=settings.chosen,
        model=settings.model,
        url=settings.engine_url,
        api_key=key.get_secret_value() if key else None,
        cache=settings.model_dir,
        script=settings.engine_script,
    )
