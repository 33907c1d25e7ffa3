"""Settings of the verifier, of the agent and of their language model, and of the tests of repositories."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr, ValidationInfo, field_validator
from pydantic_settings import NoDecode

from app.settings.loader import Settings
from app.settings.url_checks import check_engine_url


def _check_url(value: str | None) -> str | None:
    return check_engine_url(value) if value else None


def _check_urls(values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(check_engine_url, values))


class JudgeSettings(Settings):
    """Which verifier judges, and the model behind it."""

    engine: Literal["auto", "openai_compatible", "local_transformers", "scripted"] = "auto"
    """auto: openai_compatible if a URL is set, else the embedded model."""
    engine_url: Annotated[str | None, AfterValidator(_check_url)] = None
    """Base URL of an OpenAI-compatible server, such as vLLM: `http://host:8000/v1`."""
    model: str | None = None
    """The served model's name, the catalogue's name of an embedded model, or the folder of a reward model."""
    verifier: str = Field("auto", validate_default=True)
    """Name of the verifier in the catalogue. auto: `r4p` if an engine, its URL or a model is set, else `consensus`,
    which needs no language model. `hybrid:A+B` combines two verifiers."""
    prompt: str | None = None
    """Name or path of a prompt template, or `VERIFIER=PATH` for each part of a hybrid, separated by commas. None: the
    verifier's own. Weights trained on another wording bring their own. If it shows code, the workers of the queues
    `github`, `agents` and `verify` need it."""

    @field_validator("verifier")
    @classmethod
    def _choose_verifier(cls, name: str, values: ValidationInfo) -> str:
        """Replace `auto`. The embedded 0.5B model judges at chance, and `consensus` does not (docs/evaluation.md)."""
        given = values.data
        if name != "auto":
            return name
        has_model = given.get("engine") != "auto" or given.get("engine_url") or given.get("model")
        return "r4p" if has_model else "consensus"


class EngineSettings(JudgeSettings):
    """The verifier and its language model."""

    stop_early: bool = False
    """Skip votes that cannot change a verdict. This is cheaper, but gives less data for calibrators."""
    leave_one_out: bool = False
    """Leave one rival out of each vote. A verdict that depends on one rival is then unsure."""
    min_lines: int = Field(0, ge=0)
    """The bot does not judge pull requests that change fewer lines. 0 judges all."""
    engine_urls: Annotated[tuple[str, ...], NoDecode, AfterValidator(_check_urls)] = ()
    """Addresses of all servers, separated by commas, if `engine_url` is a load balancer. The bot loads trained
    adapters into each server. Empty: `engine_url` is the only server."""
    engine_api_key: SecretStr | None = None
    """Key of the model server."""
    engine_script: Path | None = None
    """Replies of the scripted engine, for tests."""
    model_dir: Path = Path.home() / ".cache" / "r4p" / "models"
    """Folder of the model files."""

    @field_validator("engine_urls", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @property
    def engine_name(self) -> str:
        """The name of the engine in use. It replaces `auto` by the engine that `auto` means here."""
        if self.engine != "auto":
            return self.engine
        return "openai_compatible" if self.engine_url else "local_transformers"


class AgentSettings(JudgeSettings):
    """Settings of the agent that writes alternatives. They hold no secret.

    The processes that plan and do this work read them. Agents cannot write with the verifier `consensus`, which needs
    no language model, and with `reward-model`, whose model only scores.
    """

    agent: str = "mini-se"
    """Name of the agent in the agents' catalogue."""
    repair_prompt: str | None = None
    """Prompt of the repairs of `agentless-mini`: `agentless_repair`, `swe_rl_repair` or the path of a template. None:
    the first."""
    trees: Path = Path.home() / ".cache" / "r4p" / "trees"
    """Folder of source trees for agents, and for judges that read code: with a prompt that shows some, or with the
    verifier `rubric`. The workers of the queues `github` and `agents` must see it, and that of `verify` for such judges."""


class SuiteSettings(Settings):
    """The tests of repositories. The workers of the queues `github` and `tests` read these settings, which hold no secret."""

    tests: Path | None = None
    """Folder of test environments, which `r4p environments build` fills. A repository names one in `tests:` of its file.
    Unset: no tests run."""
    tests_trees: Path = Path.home() / ".cache" / "r4p" / "test-trees"
    """Folder of source trees for tests. The workers of the queues `github` and `tests` must both see it."""
    tests_seconds: int = Field(default=1_800, ge=1, le=3_600)
    """Time limit for all runs of one group: those on the base and those on each candidate."""
    tests_parallel: int | None = Field(default=None, ge=1)
    """Runs at the same time in one worker. None: one for each core."""
    tests_wait_seconds: float = Field(default=300.0, ge=0)
    """Longest time that a verdict waits for its tests. Tests that end later change the comment once more."""

    tests_claim: bool = False
    """Call a patch *incorrect* that breaks more tests of the base than a rival does. Without this, it is *unsure*."""
    reproduction_tests: int = Field(default=0, ge=0, le=8)
    """Tests that the engine writes for the issue of one group, if its repository asks for them. They cost tokens. 0: none."""

    def list_mistakes(self) -> list[str]:
        """Return what a worker that runs tests lacks, one line each; empty: nothing."""
        if self.tests is None:
            return ["R4P_TESTS is missing: set it to the folder of test environments"]
        if not self.tests.is_dir():
            return [f"R4P_TESTS: {self.tests} is no folder: let `r4p environments build` create it"]
        return []
