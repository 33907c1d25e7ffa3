"""What a run learns from: a dataset, a file besides it, and all that the adapter it goes on from had learnt from.

Noted in the run's folder: a run goes on with the same only, and is measured on none of these issues.
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
from training.plans.plan import BadPlan, Lora, Trainer, TrainPlan
from training.runs import run_folder
from training.runs.run_folder import BadRun


@dataclass(frozen=True, slots=True)
class LearntFrom:
    """Digests of all there is, and whose issues they are."""

    digest: str
    """Of the dataset's manifest."""
    material: str | None = None
    """SHA-256 of the file of attempts or tasks."""
    adapter: str | None = None
    """SHA-256 of the adapter that the run went on from."""
    issues: tuple[str, ...] = ()
    """Of all three, sorted."""
    manifest: Mapping[str, Any] = field(default_factory=dict)


def note(
    plan: TrainPlan, manifest: Manifest, material: Path | None, issues: Collection[str]
) -> LearntFrom:
    """What a run by this plan learns from. Raises BadPlan where the plan's adapter can't be gone on from.

    `issues`: of the dataset's training split and of the material.
    """
    adapter, before = (None, ()) if not plan.model.adapter else _ancestor(plan)
    return LearntFrom(
        manifest.digest,
        hashlib.sha256(material.read_bytes()).hexdigest() if material else None,
        adapter,
        tuple(sorted({*issues, *before})),
        asdict(manifest),
    )


def text(of: LearntFrom) -> str:
    """As it is written to `dataset.json`."""
    return json.dumps(asdict(of), indent=2) + "\n"


def read(run: Path) -> LearntFrom:
    """What a run noted. Raises BadRun."""
    path = run / run_folder.DATASET
    try:
        told = json.loads(path.read_text())
        kept = {name: told.get(name) for name in ("material", "adapter")}
        issues = tuple(map(str, told.get("issues", ())))
        return LearntFrom(str(told["digest"]), issues=issues, **kept)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise BadRun(f"{path} does not say which dataset was learnt from ({error!r})") from error


def differences(before: LearntFrom, now: LearntFrom) -> Iterator[str]:
    """What a run that goes on would learn from otherwise than it began."""
    for name, what in (
        ("digest", "--dataset"),
        ("material", "--material"),
        ("adapter", "model.adapter"),
    ):
        one, other = getattr(before, name), getattr(now, name)
        if one != other:
            yield f"{what} was {_short(one)}, is {_short(other)}"


def _short(digest: str | None) -> str:
    return digest[:12] if digest else "none"


def _ancestor(plan: TrainPlan) -> tuple[str, tuple[str, ...]]:
    """The SHA-256 of the adapter to go on from, and the issues behind it. Raises BadPlan."""
    directory = Path(plan.model.adapter)
    try:
        sha256 = adapter_files.sha256_of(directory)
        result, behind = run_folder.result(directory.parent), read(directory.parent)
        faults = [*adapter_files.objections(directory), *_misfits(plan, directory)]
    except (BadAdapter, BadRun) as error:
        raise BadPlan(f"model.adapter = {directory}: {error}") from error
    if result is None or result.adapter_sha256 != sha256:
        faults.append(
            f"the run {directory.parent} did not end with it, so nobody can tell what it learnt from"
        )
    if faults:
        raise BadPlan(f"model.adapter = {directory}: {'; '.join(faults)}")
    return sha256, behind.issues


def _misfits(plan: TrainPlan, directory: Path) -> Iterator[str]:
    """Why this plan can't train that adapter on."""
    config = json.loads((directory / adapter_files.CONFIG).read_text())
    base = str(config.get("base_model_name_or_path"))
    if not _is_one(base, plan.model.base):
        yield f"it was trained on {base}, and model.base = {plan.model.base}; give the same base"
    if plan.trainer is Trainer.REWARD_MODEL:
        yield "a reward model begins with an adapter of its own; leave model.adapter out"
    if plan.adapter is None:
        yield "without [adapter] all weights are trained; add [adapter] as it was trained with"
    else:
        yield from _of_shape(plan.adapter, config)


def _of_shape(lora: Lora, config: Mapping[str, Any]) -> Iterator[str]:
    told = {
        "rank": (config.get("r"), lora.rank),
        "alpha": (config.get("lora_alpha"), lora.alpha),
        "targets": (sorted(config.get("target_modules") or ()), sorted(lora.targets)),
    }
    for name, (its, ours) in told.items():
        if its != ours:
            yield f"its adapter.{name} is {its}, the plan's {ours}; give the same"


def _is_one(one: str, other: str) -> bool:
    """Two names of one model: the same words, or paths of one folder."""
    places = Path(one), Path(other)
    return one == other or (
        all(place.is_dir() for place in places) and places[0].samefile(places[1])
    )
