"""This module loads LoRA adapters into running vLLM servers and unloads them.

A name stands for one set of weights for ever: vLLM caches prefixes by name, so a second adapter under an old name would
answer from the old cache. A request to load reaches one server only, and a server that keeps serving the base model
reports no error. So the bot loads each server by itself and compares its answers with the probe.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from model.adapters import adapter_files, adapter_probe
from model.adapters.adapter_probe import Passage, Probe, ProbeComparison, ServedLogprobs
from model.engines.connection import create_client, explain_refused_key
from model.errors import BadAdapter, BadEngine, EngineDown, EngineError

_LOADING_SECONDS = 120.0


class _ServerFault(EngineDown):
    """The server answered HTTP 500. vLLM does so for an adapter that it cannot load."""


_ERRORS = dict.fromkeys((400, 409, 422), EngineError) | {500: _ServerFault}
"""The error for each HTTP status that blames the request. Any other failing status may go away."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One vLLM server at its own address. A load balancer's address would reach only one of several servers."""

    url: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class NamedAdapter:
    """An adapter and the name under which vLLM serves it."""

    name: str
    base: str
    """The served name of the base model."""
    directory: Path
    """The adapter's folder, at a path that the servers can read too."""
    sha256: str


def load_adapter(
    replicas: Sequence[Replica], adapter: NamedAdapter, probe: Probe
) -> tuple[ProbeComparison, ...]:
    """Load an adapter on every server, or on none, and return how each server compares with the probe.

    A server that serves the adapter already is compared again. Raises:

    - BadAdapter for files that differ from the trained files or cannot be served;
    - UnreadableAdapter for files that cannot be read now;
    - EngineDown when a server is down;
    - BadEngine when a server refuses the key, all adapters or this adapter;
    - EngineError when a server refuses the request, or answers unlike the trainer's model.
    """
    check_adapter(adapter, probe)
    loaded = []
    try:
        comparisons = []
        for replica in replicas:
            if load_on_replica(replica, adapter):
                loaded.append(replica)
            comparisons.append(_compare(replica, adapter, probe))
    except EngineError:
        # All servers or none: a partly loaded adapter would answer only some requests.
        for replica in loaded:
            with suppress(EngineError):
                unload_adapter(replica, adapter.name)
        raise
    return tuple(comparisons)


def check_adapter(adapter: NamedAdapter, probe: Probe) -> None:
    """Check that the adapter's files are the trained ones and that vLLM can serve them.

    Raises BadAdapter if they are not, and UnreadableAdapter if a file cannot be read.
    """
    digest = adapter_files.hash_adapter(adapter.directory)
    for what, expected in (("was registered", adapter.sha256), ("was measured", probe.adapter)):
        if digest != expected:
            raise BadAdapter(
                f"the adapter in {adapter.directory} is {digest[:12]}, and {expected[:12]} {what}; train it again"
            )
    if objections := adapter_files.find_objections(adapter.directory):
        raise BadAdapter(f"adapter {adapter.name} can't be served: {'; '.join(objections)}")
    if not probe.passages:
        raise BadAdapter(f"the probe of {adapter.name} has no passage; measure it again")


def load_on_replica(replica: Replica, adapter: NamedAdapter) -> bool:
    """Load an adapter on one server. Return False if the server had it already, else True.

    Raises the errors of `load_adapter`, except BadAdapter.
    """
    if is_served(replica, adapter):
        return False
    body = {"lora_name": adapter.name, "lora_path": str(adapter.directory)}
    try:
        _call(replica, "load_lora_adapter", body)
    except _ServerFault as error:
        if not _is_answering(replica, adapter.base):
            raise
        raise BadEngine(
            f"{error}; the server answers as {adapter.base}, so it runs and refuses this adapter: start it with the "
            "options that the adapter needs, such as a larger --max-lora-rank"
        ) from error
    return True


def is_served(replica: Replica, adapter: NamedAdapter) -> bool:
    """Return whether a server serves the adapter. Raises EngineDown, and EngineError for other files under its name."""
    card = _fetch_models(replica).get(adapter.name)
    if card and not _has_same_files(card, adapter):
        raise EngineError(
            f"{replica.url} serves {card['root']} as {adapter.name}, not {adapter.directory}; names are never "
            "used again, so restart that server"
        )
    return card is not None


def unload_adapter(replica: Replica, name: str) -> None:
    """Unload the adapter that one server serves as `name`. Raises EngineDown and EngineError like `load_adapter`."""
    _call(replica, "unload_lora_adapter", {"lora_name": name})


def unload_unused(replica: Replica, unused: Iterable[NamedAdapter]) -> tuple[str, ...]:
    """Unload unused adapters from one vLLM server, and return the names of those that it had.

    An adapter that the server loaded from another folder stays. Raises like `unload_adapter`.
    """
    cards = _fetch_models(replica)
    names = [
        adapter.name
        for adapter in unused
        if (card := cards.get(adapter.name)) and _has_same_files(card, adapter)
    ]
    for name in names:
        unload_adapter(replica, name)
    return tuple(names)


def _has_same_files(card: dict[str, Any], adapter: NamedAdapter) -> bool:
    """Return whether a model card stands for the adapter's folder. A card without a path counts as the same."""
    return card.get("root") in {None, str(adapter.directory)}


def _compare(replica: Replica, adapter: NamedAdapter, probe: Probe) -> ProbeComparison:
    models = (adapter.base, adapter.base, adapter.name)
    rows = [_fetch_logprobs(replica, model, probe.passages) for model in models]
    comparison = adapter_probe.compare(probe, ServedLogprobs(*rows))
    if objections := adapter_probe.find_objections(comparison):
        raise EngineError(
            f"{replica.url} does not answer like the trained {adapter.name}: {'; '.join(objections)}"
        )
    return comparison


def _fetch_logprobs(
    replica: Replica, model: str, passages: Sequence[Passage]
) -> tuple[tuple[float, ...], ...]:
    """Fetch the log-probability of each continuation token from one model."""
    body = {
        "model": model,
        "prompt": [[*passage.prompt, *passage.continuation] for passage in passages],
        "max_tokens": 1,
        "temperature": 0.0,
        "prompt_logprobs": 0,
    }
    answer = _call(replica, "completions", body)
    try:
        choices = sorted(answer.json()["choices"], key=lambda choice: int(choice["index"]))
        return tuple(_read_row(*pair) for pair in zip(passages, choices, strict=True))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EngineError(
            f"{replica.url} returns no log-probabilities of a prompt ({error!r}); use vLLM"
        ) from error


def _read_row(passage: Passage, choice: dict[str, Any]) -> tuple[float, ...]:
    listed = choice["prompt_logprobs"][len(passage.prompt) :]
    pairs = zip(passage.continuation, listed, strict=True)
    return tuple(float(logprobs[str(token)]["logprob"]) for token, logprobs in pairs)


def _is_answering(replica: Replica, model: str) -> bool:
    """Return whether the server completes a one-token request."""
    try:
        _call(replica, "completions", {"model": model, "prompt": "1", "max_tokens": 1})
    except EngineError:
        return False
    return True


def _fetch_models(replica: Replica) -> dict[str, dict[str, Any]]:
    answer = _send(replica, "models", None)
    try:
        return {str(card["id"]): card for card in answer.json()["data"]}
    except (ValueError, KeyError, TypeError) as error:
        raise EngineDown(
            f"{replica.url}/models is no list of models (HTTP {answer.status_code}); the URL usually ends in /v1"
        ) from error


def _call(replica: Replica, path: str, body: dict[str, Any]) -> httpx.Response:
    answer = _send(replica, path, body)
    text = " ".join(answer.text.split())[:200]
    if answer.status_code == httpx.codes.NOT_FOUND:
        raise BadEngine(_explain_not_found(replica, path, text))
    if not answer.is_success:
        error = _ERRORS.get(answer.status_code, EngineDown)
        raise error(f"{path} at {replica.url} answered HTTP {answer.status_code}: {text}")
    return answer


def _explain_not_found(replica: Replica, path: str, text: str) -> str:
    """Explain an HTTP 404. Its cause is the server's setup, not the adapter."""
    # FastAPI's own 404 has a `detail`: the route is missing. vLLM's 404 about a model has none.
    if "detail" in text:
        return (
            f"the engine at {replica.url} has no {path}; start vLLM with --enable-lora and "
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
        )
    return (
        f"{path} at {replica.url} answered HTTP 404: {text}; the server must see the adapter's folder at the same "
        "path and serve the base model under the given name"
    )


def _send(replica: Replica, path: str, body: dict[str, Any] | None) -> httpx.Response:
    try:
        with create_client(replica.url, replica.api_key, _LOADING_SECONDS) as client:
            answer = client.get(path) if body is None else client.post(path, json=body)
    except httpx.HTTPError as error:
        raise EngineDown(f"no engine answers at {replica.url}: {error}") from error
    if refusal := explain_refused_key(answer, replica.url, replica.api_key):
        raise BadEngine(refusal)
    return answer
