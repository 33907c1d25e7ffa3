"""LoRA adapters put into vLLM servers that run, and taken out again.

A name stands for one set of weights, for ever: vLLM keeps cached prefixes by name, so another adapter under an old
name would answer from the old one's keys and values. A load reaches one server only, and one that serves the base
instead says nothing; so every server is loaded by itself, and asked what it then answers.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from model.adapters import adapter_files, adapter_probe
from model.adapters.adapter_probe import Passage, Probe, Reading, Served
from model.engines.connection import http_client, refused_key
from model.errors import BadAdapter, BadEngine, EngineDown, EngineError

_LOADING_SECONDS = 120.0


class _Broke(EngineDown):
    """Something went wrong in the server: vLLM says so also of an adapter that it does not take."""


_ERRORS = dict.fromkeys((400, 409, 422), EngineError) | {500: _Broke}
"""HTTP statuses that speak of what was sent, and what may; any other that is no success may pass."""


@dataclass(frozen=True, slots=True)
class Replica:
    """One server, by its own address: what a balancer hands on reaches one of several."""

    url: str
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Servable:
    """An adapter, and what it is served as."""

    name: str
    base: str
    """The served name of what it adapts."""
    directory: Path
    """A path that the servers read as well."""
    sha256: str


def load(replicas: Sequence[Replica], adapter: Servable, probe: Probe) -> tuple[Reading, ...]:
    """Serve an adapter beside its base on every server, or on none; returns what each answers beside the trainer.

    Loading what is served already changes nothing, and it is asked all the same. Raises BadAdapter for files that are
    not what was trained or can't be served, EngineDown when a server is down, BadEngine when one is up and takes not
    the key, no adapter or not this one, EngineError when the request is refused, or answers are not those of the trainer's model.
    """
    check(adapter, probe)
    fresh = []
    try:
        readings = []
        for replica in replicas:
            if bring(replica, adapter):
                fresh.append(replica)
            readings.append(_asked(replica, adapter, probe))
    except EngineError:
        for replica in fresh:
            with suppress(EngineError):
                unload(replica, adapter.name)
        raise
    return tuple(readings)


def check(adapter: Servable, probe: Probe) -> None:
    """Refuse files that can't be served, or are not those that were trained and measured. Raises BadAdapter."""
    now = adapter_files.sha256_of(adapter.directory)
    for what, expected in (("was registered", adapter.sha256), ("was measured", probe.adapter)):
        if now != expected:
            raise BadAdapter(
                f"the adapter in {adapter.directory} is {now[:12]}, and {expected[:12]} {what}; train it anew"
            )
    if found := adapter_files.objections(adapter.directory):
        raise BadAdapter(f"adapter {adapter.name} can't be served: {'; '.join(found)}")
    if not probe.passages:
        raise BadAdapter(f"the probe of {adapter.name} has no passage; measure it anew")


def bring(replica: Replica, adapter: Servable) -> bool:
    """Serve an adapter on one server, unasked what it answers; False: it did already. Raises as `load` does."""
    if serves(replica, adapter):
        return False
    body = {"lora_name": adapter.name, "lora_path": str(adapter.directory)}
    try:
        _done(replica, "load_lora_adapter", body)
    except _Broke as error:
        if not _answers(replica, adapter.base):
            raise
        raise BadEngine(
            f"{error}; it answers as {adapter.base}, so it is up and does not take this adapter: start it with what the "
            "adapter needs, such as a larger --max-lora-rank"
        ) from error
    return True


def serves(replica: Replica, adapter: Servable) -> bool:
    """Whether a server serves it. Raises EngineDown, and EngineError when the name stands for other files there."""
    card = _cards(replica).get(adapter.name)
    if card and not _is_of(card, adapter):
        raise EngineError(
            f"{replica.url} serves {card['root']} as {adapter.name}, and not {adapter.directory}; names are never "
            "used again, so start that server anew"
        )
    return card is not None


def unload(replica: Replica, name: str) -> None:
    """Take an adapter out of service. Raises EngineDown and EngineError as `load` does."""
    _done(replica, "unload_lora_adapter", {"lora_name": name})


def unload_those(replica: Replica, unused: Iterable[Servable]) -> tuple[str, ...]:
    """Take adapters out of service as far as they are served from their folders; returns their names. Raises as above."""
    cards = _cards(replica)
    gone = [one.name for one in unused if (card := cards.get(one.name)) and _is_of(card, one)]
    for name in gone:
        unload(replica, name)
    return tuple(gone)


def _is_of(card: dict[str, Any], adapter: Servable) -> bool:
    """Whether a name stands for the files that we know, as far as the server tells."""
    return card.get("root") in {None, str(adapter.directory)}


def _asked(replica: Replica, adapter: Servable, probe: Probe) -> Reading:
    models = (adapter.base, adapter.base, adapter.name)
    rows = [_log_probabilities(replica, one, probe.passages) for one in models]
    reading = adapter_probe.read(probe, Served(*rows))
    if found := adapter_probe.objections(reading):
        raise EngineError(
            f"{replica.url} does not answer as {adapter.name} was trained: {'; '.join(found)}"
        )
    return reading


def _log_probabilities(
    replica: Replica, model: str, passages: Sequence[Passage]
) -> tuple[tuple[float, ...], ...]:
    """What each passage's continuation is worth to a model, token by token."""
    body = {
        "model": model,
        "prompt": [[*one.prompt, *one.continuation] for one in passages],
        "max_tokens": 1,
        "temperature": 0.0,
        "prompt_logprobs": 0,
    }
    answer = _done(replica, "completions", body)
    try:
        choices = sorted(answer.json()["choices"], key=lambda choice: int(choice["index"]))
        return tuple(_row(*pair) for pair in zip(passages, choices, strict=True))
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise EngineError(
            f"{replica.url} tells no log-probabilities of a prompt ({error!r}); vLLM does"
        ) from error


def _row(passage: Passage, choice: dict[str, Any]) -> tuple[float, ...]:
    told = choice["prompt_logprobs"][len(passage.prompt) :]
    pairs = zip(passage.continuation, told, strict=True)
    return tuple(float(one[str(token)]["logprob"]) for token, one in pairs)


def _answers(replica: Replica, model: str) -> bool:
    """Whether a server can be asked at all just now."""
    try:
        _done(replica, "completions", {"model": model, "prompt": "1", "max_tokens": 1})
    except EngineError:
        return False
    return True


def _cards(replica: Replica) -> dict[str, dict[str, Any]]:
    answer = _sent(replica, "models", None)
    try:
        return {str(card["id"]): card for card in answer.json()["data"]}
    except (ValueError, KeyError, TypeError) as error:
        raise EngineDown(
            f"{replica.url}/models is no list of models (HTTP {answer.status_code}); the URL ends in /v1 as a rule"
        ) from error


def _done(replica: Replica, path: str, body: dict[str, Any]) -> httpx.Response:
    answer = _sent(replica, path, body)
    said = " ".join(answer.text.split())[:200]
    if answer.status_code == httpx.codes.NOT_FOUND:
        raise BadEngine(_not_found(replica, path, said))
    if not answer.is_success:
        error = _ERRORS.get(answer.status_code, EngineDown)
        raise error(f"{path} at {replica.url} answered HTTP {answer.status_code}: {said}")
    return answer


def _not_found(replica: Replica, path: str, said: str) -> str:
    """What is missing there: nothing is wrong with the adapter."""
    if "detail" in said:
        return (
            f"the engine at {replica.url} has no {path}; start vLLM with --enable-lora and "
            "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1"
        )
    return (
        f"{path} at {replica.url} answered HTTP 404: {said}; the server has to read the adapter's folder under the same "
        "path, and to serve its base under the name that is given"
    )


def _sent(replica: Replica, path: str, body: dict[str, Any] | None) -> httpx.Response:
    try:
        with http_client(replica.url, replica.api_key, _LOADING_SECONDS) as client:
            answer = client.get(path) if body is None else client.post(path, json=body)
    except httpx.HTTPError as error:
        raise EngineDown(f"no engine answers at {replica.url}: {error}") from error
    if refusal := refused_key(answer, replica.url, replica.api_key):
        raise BadEngine(refusal)
    return answer
