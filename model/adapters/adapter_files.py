"""This module hashes the two files of a LoRA adapter and checks whether vLLM can serve them.

vLLM serves plain LoRA (Hu et al., 2021). It refuses other changes when it loads the adapter, or ignores them silently.
"""

import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from model.adapters import adapter_probe
from model.adapters.adapter_probe import Probe
from model.errors import BadAdapter, UnreadableAdapter

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
FILES = (CONFIG, WEIGHTS)
_OFF = ("use_dora", "lora_bias", "alora_invocation_tokens", "layer_replication", "modules_to_save")
"""Settings of PEFT that vLLM ignores."""
_LIST_SETTINGS = {"target_modules", "exclude_modules", "modules_to_save"}
_VOCABULARY = ("embed_tokens", "lm_head")
_MAX_RANK = 512
"""The highest value of vLLM's --max-lora-rank."""
_NUMBER_TYPES = {"F32": ("<u4", 0x7F800000), "F16": ("<u2", 0x7C00), "BF16": ("<u2", 0x7F80)}
"""For each safetensors type: numpy's integer type, and the exponent bits, which NaN and infinity set."""


def hash_adapter(directory: Path) -> str:
    """Return the SHA-256 of the LoRA adapter in `directory`, over the bytes of its config and then its weights.

    The result is 64 hex digits. Raises UnreadableAdapter if a file cannot be read.
    """
    digest = hashlib.sha256()
    for name in FILES:
        digest.update(_read_bytes(directory / name))
    return digest.hexdigest()


def sort_config(directory: Path) -> None:
    """Sort the lists in a LoRA adapter's config file, so that equal settings give equal bytes.

    PEFT writes the names of modules in an order that differs from process to process.
    """
    path = directory / CONFIG
    config = json.loads(_read_bytes(path))
    for key in _LIST_SETTINGS & config.keys():
        if isinstance(config[key], list):
            config[key].sort()
    path.write_text(json.dumps(config, indent=2, sort_keys=True))


def build_adapter_name(sha256: str, day: date) -> str:
    """Build the name under which vLLM serves an adapter: `r4p-<YYYYMMDD>-<hash8>`, from its hash and training day."""
    return f"r4p-{day:%Y%m%d}-{sha256[:8]}"


def build_run_adapter_name(run: Path, sha256: str) -> str:
    """Build an adapter's served name from its hash and the day on which the run in the folder `run` ended.

    Raises BadAdapter if `result.json` in that folder does not name the day, and UnreadableAdapter if it cannot be read.
    """
    path = run / "result.json"
    try:
        ended = datetime.fromisoformat(json.loads(_read_bytes(path))["ended_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadAdapter(
            f"{path} does not say when the run ended ({error!r}), and the adapter's name needs the day; train it again"
        ) from error
    return build_adapter_name(sha256, ended.astimezone(UTC).date())


def read_probe(path: Path) -> Probe:
    """Read the file of reference log-probabilities that the trainer measured with an adapter.

    Raises BadAdapter for a file that is no probe, and UnreadableAdapter for a file that cannot be read.
    """
    try:
        return adapter_probe.parse_probe(_read_bytes(path).decode())
    except (ValueError, TypeError) as error:
        raise BadAdapter(f"{path} is no probe of an adapter: {error}; train it again") from error


def find_objections(directory: Path) -> tuple[str, ...]:
    """Return the reasons why vLLM cannot serve the adapter in `directory` as it was trained; empty if it can.

    Raises UnreadableAdapter if a file cannot be read, and BadAdapter if it has another format.
    """
    path = directory / CONFIG
    try:
        config = json.loads(_read_bytes(path))
    except ValueError as error:
        raise BadAdapter(f"{path} is no JSON ({error}); save the adapter again") from error
    return (*find_config_objections(config), *_find_weight_objections(directory / WEIGHTS))


def find_config_objections(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a reason, as text, for each setting of an adapter's PEFT config that vLLM refuses or ignores."""
    if config.get("peft_type") != "LORA":
        yield f"peft_type is {config.get('peft_type')!r}; LORA can be served"
    if config.get("bias", "none") != "none":
        yield f"bias is {config['bias']!r}; none can be served"
    for name in _OFF:
        if config.get(name):
            yield f"{name} is set; vLLM would leave it out"
    if isinstance(rank := config.get("r"), int) and rank > _MAX_RANK:
        yield f"its rank is {rank}; vLLM serves {_MAX_RANK} at most"
    yield from _find_target_objections(config.get("target_modules"))


def _find_target_objections(targets: object) -> Iterator[str]:
    named = [targets] if isinstance(targets, str) else targets or []
    for target in named if isinstance(named, list) else []:
        if any(word in str(target) for word in _VOCABULARY):
            yield f"it adapts {target}; vLLM serves adapters of layers, not of the vocabulary"


def _find_weight_objections(path: Path) -> Iterator[str]:
    data = _read_bytes(path)
    try:
        # safetensors: 8 bytes of header length, the JSON header, then the tensors.
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        tensors = {name: tensor for name, tensor in header.items() if name != "__metadata__"}
        foreign = [name for name in tensors if ".lora_A." not in name and ".lora_B." not in name]
        weights = memoryview(data)[8 + length :]
        infinite = [name for name, tensor in tensors.items() if _has_infinite(weights, tensor)]
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadAdapter(f"{path} is no safetensors file ({error}); save it again") from error
    if not tensors:
        yield "it holds no weights"
    if foreign:
        yield f"it holds {foreign[0]}, which is no part of a plain LoRA"
    if infinite:
        yield f"{infinite[0]} holds numbers that are not finite"


def _has_infinite(data: memoryview, tensor: Mapping[str, Any]) -> bool:
    import numpy as np

    kind, bits = _NUMBER_TYPES[tensor["dtype"]]
    start, end = tensor["data_offsets"]
    # Compared as integers, because numpy has no bfloat16.
    numbers = np.frombuffer(data[start:end], dtype=kind)
    return bool(((numbers & bits) == bits).any())


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UnreadableAdapter(
            f"{path} can't be read ({error.strerror}); restore the file, or mount its folder where this process runs"
        ) from error
