"""LoRA adapters put into a vLLM that runs, and taken out again.

A name stands for one set of weights, for ever: vLLM keeps cached prefixes by name, so another adapter under an old
name would answer from the old one's keys and values. Hence names carry a hash of the adapter's bytes.
"""

import hashlib
import math
from contextlib import closing
from pathlib import Path

import httpx

from model.engines.openai_compatible import connect, http_client, probe
from model.errors import EngineDown, EngineError
from model.protocols import Completion, Message, Request

_FILES = ("adapter_config.json", "adapter_model.safetensors")
_LOADING_SECONDS = 120.0
_PROBE = Request(
    (Message("user", "Which of two patches is right, and why?"),), 8, 0.0, 0, alternatives=1
)


def name_of(directory: Path) -> str:
    """What an adapter is served as: its folder's name and 12 hex digits of its bytes.

    Raises EngineError when the folder holds no adapter.
    """
    digest = hashlib.sha256()
    try:
        for file in _FILES:
            digest.update((directory / file).read_bytes())
    except OSError as error:
        raise EngineError(
            f"no adapter in {directory}: {error.strerror} ({error.filename})"
        ) from error
    return f"{directory.name}-{digest.hexdigest()[:12]}"


def load(url: str, base: str, directory: Path, api_key: str | None = None) -> str:
    """Serve the adapter in `directory`, a path that the server reads as well, beside its base; returns the name.

    Loading what is served already changes nothing. Raises EngineDown when the server can't load adapters, and
    EngineError when it refuses this one, or serves it without any effect (then it is taken out again).
    """
    name = name_of(directory)
    if not _is_served(url, name, api_key):
        _post(url, api_key, "load_lora_adapter", {"lora_name": name, "lora_path": str(directory)})
        if not _changes(url, base, name, api_key):
            unload(url, name, api_key)
            raise EngineError(f"adapter {name} answers as {base} does; was it trained, and for it?")
    return name


def unload(url: str, name: str, api_key: str | None = None) -> None:
    """Take an adapter out of service. Raises EngineDown and EngineError as `load` does."""
    _post(url, api_key, "unload_lora_adapter", {"lora_name": name})


def _is_served(url: str, name: str, api_key: str | None) -> bool:
    try:
        probe(url, name, api_key)
    except EngineDown:
        return False
    return True


def _changes(url: str, base: str, name: str, api_key: str | None) -> bool:
    """Whether the adapter moves an answer by more than asking the same model twice does."""
    plain, adapted = (_said_twice(url, model, api_key) for model in (base, name))
    noise = max(_difference(*plain), _difference(*adapted))
    return _difference(plain[1], adapted[1]) > noise


def _said_twice(url: str, model: str, api_key: str | None) -> list[Completion]:
    with closing(connect(url, model, api_key)) as engine:
        return [_said(engine.complete([_PROBE])[0]) for _ in range(2)]


def _said(answer: Completion | EngineError) -> Completion:
    if isinstance(answer, EngineError):
        raise answer
    return answer


def _difference(one: Completion, other: Completion) -> float:
    """The largest difference in log-probability over the same words; infinite for other words."""
    if one.text != other.text:
        return math.inf
    pairs = zip(one.tokens, other.tokens, strict=False)
    return max((abs(a.log_probability - b.log_probability) for a, b in pairs), default=0.0)


def _post(url: str, api_key: str | None, path: str, body: dict[str, str]) -> None:
    try:
        with http_client(url, api_key, _LOADING_SECONDS) as client:
            answer = client.post(path, json=body)
    except httpx.HTTPError as error:
        raise EngineDown(f"no engine answers at {url}: {error}") from error
    said = " ".join(answer.text.split())[:200]
    if answer.status_code == httpx.codes.NOT_FOUND and "detail" in said:
        raise EngineDown(
            f"the engine at {url} has no {path}; start vLLM with --enable-lora and "
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
        )
    if not answer.is_success:
        raise EngineError(f"{path} at {url} answered HTTP {answer.status_code}: {said}")
