"""An adapter's two files: whose bytes they are, and whether vLLM can serve them.

A plain LoRA it can (Hu et al., 2021); what changes more than that it refuses when it is asked, or worse, leaves out.
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
from model.errors import BadAdapter

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
FILES = (CONFIG, WEIGHTS)
_OFF = ("use_dora", "lora_bias", "alora_invocation_tokens", "layer_replication", "modules_to_save")
"""Settings of PEFT that vLLM does not follow."""
_UNORDERED = {"target_modules", "exclude_modules", "modules_to_save"}
_VOCABULARY = ("embed_tokens", "lm_head")
_HIGHEST_RANK = 512
"""That any vLLM can be started with, by its --max-lora-rank."""
_EXPONENTS = {"F32": ("<u4", 0x7F800000), "F16": ("<u2", 0x7C00), "BF16": ("<u2", 0x7F80)}
"""By safetensors' name of a type: how its numbers are read as whole ones, and the bits that are all set in NaN and infinity."""


def sha256_of(directory: Path) -> str:
    """Of both files' bytes, in order. Raises BadAdapter."""
    digest = hashlib.sha256()
    for name in FILES:
        digest.update(_bytes(directory / name))
    return digest.hexdigest()


def settle(directory: Path) -> None:
    """Have equal settings be equal bytes: PEFT writes names of modules in an order that each process has its own of."""
    path = directory / CONFIG
    config = json.loads(_bytes(path))
    for key in _UNORDERED & config.keys():
        if isinstance(config[key], list):
            config[key].sort()
    path.write_text(json.dumps(config, indent=2, sort_keys=True))


def name_of(sha256: str, day: date) -> str:
    """What an adapter is served as: `r4p-<YYYYMMDD>-<hash8>`."""
    return f"r4p-{day:%Y%m%d}-{sha256[:8]}"


def name_of_run(run: Path, sha256: str) -> str:
    """What the adapter of a run is served as: by its bytes, and the day on which the run ended. Raises BadAdapter."""
    path = run / "result.json"
    try:
        ended = datetime.fromisoformat(json.loads(_bytes(path))["ended_at"])
    except (ValueError, KeyError, TypeError) as error:
        raise BadAdapter(
            f"{path} does not say when the run ended ({error!r}), as its adapter's name has to; train it anew"
        ) from error
    return name_of(sha256, ended.astimezone(UTC).date())


def probe_of(path: Path) -> Probe:
    """What the trainer measured. Raises BadAdapter."""
    try:
        return adapter_probe.from_json(_bytes(path).decode())
    except (ValueError, TypeError) as error:
        raise BadAdapter(f"{path} is no probe of an adapter: {error}; train it anew") from error


def objections(directory: Path) -> tuple[str, ...]:
    """Why vLLM would refuse an adapter, or serve something else; none: it can be loaded. Raises BadAdapter."""
    path = directory / CONFIG
    try:
        config = json.loads(_bytes(path))
    except ValueError as error:
        raise BadAdapter(f"{path} is no JSON ({error}); save the adapter anew") from error
    return (*objections_to(config), *_of_weights(directory / WEIGHTS))


def objections_to(config: Mapping[str, Any]) -> Iterator[str]:
    """Why vLLM would refuse any adapter with such settings of PEFT, or serve something else."""
    if config.get("peft_type") != "LORA":
        yield f"peft_type is {config.get('peft_type')!r}; LORA can be served"
    if config.get("bias", "none") != "none":
        yield f"bias is {config['bias']!r}; none can be served"
    for name in _OFF:
        if config.get(name):
            yield f"{name} is set; vLLM would leave it out"
    if isinstance(rank := config.get("r"), int) and rank > _HIGHEST_RANK:
        yield f"its rank is {rank}; vLLM serves {_HIGHEST_RANK} at most"
    yield from _of_targets(config.get("target_modules"))


def _of_targets(targets: object) -> Iterator[str]:
    named = [targets] if isinstance(targets, str) else targets or []
    for one in named if isinstance(named, list) else []:
        if any(word in str(one) for word in _VOCABULARY):
            yield f"it adapts {one}; vLLM serves adapters of layers, not of the vocabulary"


def _of_weights(path: Path) -> Iterator[str]:
    data = _bytes(path)
    try:
        (length,) = struct.unpack_from("<Q", data)
        header = json.loads(data[8 : 8 + length])
        tensors = {name: one for name, one in header.items() if name != "__metadata__"}
        strange = [name for name in tensors if ".lora_A." not in name and ".lora_B." not in name]
        wild = [
            name for name, one in tensors.items() if _is_wild(memoryview(data)[8 + length :], one)
        ]
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadAdapter(f"{path} is no safetensors file ({error}); save it anew") from error
    if not tensors:
        yield "it holds no weights"
    if strange:
        yield f"it holds {strange[0]}, which is no part of a plain LoRA"
    if wild:
        yield f"{wild[0]} holds numbers that are not finite"


def _is_wild(data: memoryview, tensor: Mapping[str, Any]) -> bool:
    import numpy as np

    kind, bits = _EXPONENTS[tensor["dtype"]]
    start, end = tensor["data_offsets"]
    numbers = np.frombuffer(data[start:end], dtype=kind)
    return bool(((numbers & bits) == bits).any())


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadAdapter(
            f"no adapter in {path.parent}: {path.name} can't be read ({error.strerror})"
        ) from error
