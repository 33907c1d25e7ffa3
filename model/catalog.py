"""Names to constructors: the one place that knows every engine and verifier, and loads them late."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from model.errors import EngineDown
from model.protocols import Engine, Verifier

T = TypeVar("T")

DEFAULT_MODEL = "qwen2.5-coder-0.5b-instruct"
"""The embedded one: it shows the pipeline, and judges at chance."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine, and what the chosen one needs; what it does not need is ignored."""

    name: str
    """`openai_compatible`, `local_transformers` or `scripted`."""
    model: str | None = None
    """A server's name for it, or one of our own catalogue; None takes the only one served, or DEFAULT_MODEL."""
    url: str | None = None
    """Base of an OpenAI-compatible API, as in `http://127.0.0.1:8000/v1`."""
    api_key: str | None = field(default=None, repr=False)
    cache: Path | None = None
    """Where the embedded model's files are kept."""
    weights: Path | None = None
    """A directory that may hold the embedded model's file already."""
    script: Path | None = None
    """JSON lines that a scripted engine answers from."""
    on_step: Callable[[str, int, int], None] = lambda _step, _done, _total: None
    """Told of downloads and decoding: what, how much is done, of how much (0: unknown)."""


def engine(choice: EngineChoice) -> Engine:
    """The engine, ready to answer; the embedded one is fetched and loaded now, which may take a minute.

    Raises EngineDown (naming what is missing) or WeightsUnavailable.
    """
    match choice.name:
        case "openai_compatible":
            from model.engines.openai_compatible import connect

            return connect(_given(choice.url, choice, "url"), choice.model, choice.api_key)
        case "local_transformers":
            return _embedded(choice)
        case "scripted":
            from model.engines import scripted

            return scripted.load(_given(choice.script, choice, "script"))
        case unknown:
            raise EngineDown(
                f"no engine is called {unknown!r}; there are openai_compatible, local_transformers, scripted"
            )


def verifier(
    name: str, engine: Engine, *, prompt: str | Path | None = None, reply_tokens: int | None = None
) -> Verifier:
    """A verifier by name (`r4p`) that speaks through `engine`.

    `prompt` replaces its template, `reply_tokens` the longest reply of one vote.

    Raises TemplateError, and EngineDown for an unknown name.
    """
    match name:
        case "r4p":
            from model import prompts
            from model.verifiers.ballots import Sampling
            from model.verifiers.r4p import R4PVerifier

            # On two cores every token costs: 256 keep three votes on four patches well under a minute and a half.
            embedded = engine.name == "local_transformers"
            sampling = Sampling(max_tokens=256, batch=4) if embedded else Sampling()
            if reply_tokens:
                sampling = replace(sampling, max_tokens=reply_tokens)
            return R4PVerifier(engine, prompts.load(prompt or "r4p_group"), sampling)
        case unknown:
            raise EngineDown(f"no verifier is called {unknown!r}; there is r4p")


def prepare(choice: EngineChoice) -> Path:
    """Have the embedded model's files ready on disk, so that loading it takes seconds; returns their directory.

    Raises EngineDown for a name that isn't in the catalogue, WeightsUnavailable when no source has the file.
    """
    cache: Path = _given(choice.cache, choice, "cache")
    try:
        from model import weights
        from model.engines import dequantise
    except ImportError as error:
        raise EngineDown(
            f"the embedded model needs {error.name}: install r4p-bot[local], or give an engine's URL"
        ) from error
    file = weights.CATALOGUE.get(choice.model or DEFAULT_MODEL)
    if file is None:
        raise EngineDown(
            f"no embedded model is called {choice.model!r}; there are {', '.join(weights.CATALOGUE)}; "
            "any other model needs an engine's URL"
        )
    copy = dequantise.copy_of(file, cache)
    if copy.is_dir():
        return copy
    gguf = weights.fetch(file, cache, local=choice.weights, on_progress=choice.on_step)
    choice.on_step("unpacking the model, once", 0, 0)
    return dequantise.prepare(file, gguf, cache)


def _embedded(choice: EngineChoice) -> Engine:
    copy = prepare(choice)
    from model.engines import local_transformers

    choice.on_step("loading the model", 0, 0)
    return local_transformers.LocalTransformers(
        copy,
        model=choice.model or DEFAULT_MODEL,
        on_token=lambda done: choice.on_step("thinking, tokens", done, 0),
    )


def _given(value: T | None, choice: EngineChoice, what: str) -> T:
    if value is None:
        raise EngineDown(f"engine {choice.name} needs its {what}, and none is set")
    return value
