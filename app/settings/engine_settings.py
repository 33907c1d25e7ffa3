"""Who judges, who writes alternatives, and which language model they ask."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import NoDecode

from app.settings.loader import Settings
from app.settings.sandbox_kind import Sandbox


class EngineSettings(Settings):
    """Who judges, and which language model it asks."""

    verifier: str = "r4p"
    """A name of the catalogue; `consensus` asks no language model, `hybrid:A+B` composes two."""
    stop_early: bool = False
    """Leave out votes that can't change a verdict any more: cheaper, and less to calibrate on."""
    leave_one_out: bool = False
    """Every vote goes without one of the rivals, and what hangs on a rival's presence is unsure."""
    min_lines: int = Field(0, ge=0)
    """Pull requests that edit fewer lines are not judged; 0 judges all."""
    engine: Literal["auto", "openai_compatible", "local_transformers", "scripted"] = "auto"
    """auto: openai_compatible when an URL is set, else the embedded model."""
    engine_url: str | None = None
    """Base URL of an OpenAI-compatible server, such as vLLM: `http://host:8000/v1`."""
    engine_urls: Annotated[tuple[str, ...], NoDecode] = ()
    """Every server by its own address, separated by commas, where `engine_url` is a balancer in front of several: a
    trained adapter is put into each. Empty: `engine_url` is the only one."""
    engine_api_key: SecretStr | None = None
    engine_script: Path | None = None
    """Replies of the scripted engine (tests)."""
    model: str | None = None
    """The served model's name, or the catalogue's name of an embedded one."""
    prompt: str | None = None
    """Name or path of the prompt template; weights trained on another wording bring their own.
    None: the verifier's."""
    model_dir: Path = Path.home() / ".cache" / "r4p" / "models"
    """Where model files are kept, looked for first."""

    @field_validator("engine_urls", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @property
    def chosen(self) -> str:
        """The engine's name, with `auto` resolved."""
        if self.engine != "auto":
            return self.engine
        return "openai_compatible" if self.engine_url else "local_transformers"


class AgentSettings(Settings):
    """Who writes alternatives, and where. Whoever plans such work, and whoever does it, knows this; no secret is in it."""

    agent: str = "mini-se"
    """A name of the agents' catalogue."""
    agent_sandbox: Sandbox = Sandbox.BUBBLEWRAP
    """What an agent's process is shut in; `container` where it has one of its own."""
    trees: Path = Path.home() / ".cache" / "r4p" / "trees"
    """Where source trees are handed over; both processes must have it."""
    verifier: str = "r4p"
    """As in EngineSettings: where no language model judges, there is none to write with."""
    model: str | None = None
    """As in EngineSettings, to be named to people."""
