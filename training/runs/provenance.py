"""Record what a run learns from: its dataset, its extra file, and the sources of the adapter it continues.

A resumed run must have the same provenance. A run is never evaluated on these issues.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from model.adapters import adapter_files
from model.errors import BadAdapter
from training.datasets.manifest import Manifest
from training.plans.plan import BadPlan, LoraSettings, TrainingMethod, TrainPlan
from training.runs import run_folder
from training.runs.run_folder import BadRun


@dataclass(frozen=True, slots=True)
class Provenance:
    """What a run learns from: the digests of all its sources, and the issues in them."""

    digest: str
    """SHA-256 of the dataset's manifest."""
    material: str | None = None
    """SHA-256 of the file of attempts or tasks."""
    adapter: str | None = None
    """SHA-256 of the adapter that the run continues."""
    issues: tuple[str, ...] = ()
    """Issues of all three sources, sorted."""
    manifest: Mapping[str, Any] = field(default_factory=dict)


def record_provenance(
    plan: TrainPlan, manifest: Manifest, material: Path | None, issues: Collection[str]
) -> Provenance:
    """Return the provenance of a run from its plan, its dataset's manifest and its other sources. Writes no file.

    `material` is the file that the plan also learns from, or None. `issues` are those of the dataset's training split
    and of `material`. Raises BadPlan if the run cannot continue the plan's adapter.
    """
    adapter, before = (None, ()) if not plan.model.adapter else _read_ancestor(plan)
    return Provenance(
        manifest.digest,
        hashlib.sha256(material.read_bytes()).hexdigest() if material else None,
        adapter,
        tuple(sorted({*issues, *before})),
        asdict(manifest),
    )


def to_json(provenance: Provenance) -> str:
    """Return a run's provenance as the text of its `dataset.json`."""
    return json.dumps(asdict(provenance), indent=2) + "\n"


def read_provenance(run: Path) -> Provenance:
    """Read the provenance of a run, without the manifest, from the folder `run`. Raises BadRun if it is unreadable."""
    path = run / run_folder.DATASET
    try:
        document = json.loads(path.read_text())
        kept = {name: document.get(name) for name in ("material", "adapter")}
        issues = tuple(map(str, document.get("issues", ())))
        return Provenance(str(document["digest"]), issues=issues, **kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRun(f"{path} does not name the run's dataset ({error!r})") from error


def list_differences(before: Provenance, now: Provenance) -> Iterator[str]:
    """Yield a text for each source that changed since a run began, such as `--dataset was 1a2b…, is 3c4d…`."""
    for name, what in (
        ("digest", "--dataset"),
        ("material", "--material"),
        ("adapter", "model.adapter"),
    ):
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            yield f"{what} was {_shorten(old)}, is {_shorten(new)}"


def _shorten(digest: str | None) -> str:
    return digest[:12] if digest else "none"


def _read_ancestor(plan: TrainPlan) -> tuple[str, tuple[str, ...]]:
    """Return the SHA-256 of the adapter to continue and the issues behind it. Raises BadPlan."""
    directory = Path(plan.model.adapter)
    try:
        sha256 = adapter_files.hash_adapter(directory)
        result, behind = run_folder.read_result(directory.parent), read_provenance(directory.parent)
        faults = [*adapter_files.find_objections(directory), *_list_misfits(plan, directory)]
    except (BadAdapter, BadRun) as error:
        raise BadPlan(f"model.adapter = {directory}: {error}") from error
    if result is None or result.adapter_sha256 != sha256:
        faults.append(
            f"the run {directory.parent} did not end with this adapter, so its training data is unknown"
        )
    if faults:
        raise BadPlan(f"model.adapter = {directory}: {'; '.join(faults)}")
    return sha256, behind.issues


def _list_misfits(plan: TrainPlan, directory: Path) -> Iterator[str]:
    """Yield why this plan cannot continue that adapter."""
    config = json.loads((directory / adapter_files.CONFIG).read_text())
    base = str(config.get("base_model_name_or_path"))
    if not _is_same_model(base, plan.model.base):
        yield f"it was trained on {base}, and model.base = {plan.model.base}; give the same base"
    if plan.trainer is TrainingMethod.REWARD_MODEL:
        yield "a reward model begins with an adapter of its own; leave model.adapter out"
    if plan.adapter is None:
        yield "without [adapter] all weights are trained; add [adapter] as it was trained with"
    else:
        yield from _list_shape_misfits(plan.adapter, config)


def _list_shape_misfits(lora: LoraSettings, config: Mapping[str, Any]) -> Iterator[str]:
    settings = {
        "rank": (config.get("r"), lora.rank),
        "alpha": (config.get("lora_alpha"), lora.alpha),
        "targets": (sorted(config.get("target_modules") or ()), sorted(lora.targets)),
    }
    for name, (trained, planned) in settings.items():
        if trained != planned:
            yield f"its adapter.{name} is {trained}, the plan's {planned}; give the same"


def _is_same_model(first: str, second: str) -> bool:
    """Tell whether two names mean the same model: equal strings, or paths of the same folder."""
    folders = Path(first), Path(second)
    return first == second or (
        all(place.is_dir() for place in folders) and folders[0].samefile(folders[1])
    )
