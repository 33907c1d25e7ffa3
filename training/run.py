"""One training run from plan to adapter, by whichever trainer the plan names; goes on where a killed one stopped.

Several processes may run it side by side (accelerate, torchrun): the first writes, all train. Loads torch.
"""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from accelerate import PartialState
from jinja2 import TemplateError
from peft import PeftModel
from safetensors import SafetensorError
from transformers import PrinterCallback

from model import adapter_files, prompts
from model.errors import EngineDown, ModelError
from training import (
    checkpoints,
    dataset,
    encoding,
    plan_file,
    probe,
    questions,
    run_folder,
    weights,
)
from training.groups import TrainingGroup
from training.plan import BadPlan, Task, Trainer, TrainPlan
from training.run_folder import BadRun, Result, Status
from training.watch import OnStep, Watch

_PROBED = 4
"""Prompts whose continuations are noted for the servers."""
_ENDS = (
    ModelError,
    ArithmeticError,
    ImportError,
    OSError,
    RuntimeError,
    ValueError,
    SafetensorError,
    TemplateError,
)
"""What we, torch and TRL, a library that is not there, disks, weights and a model's chat template say of a run that can't
go on: the folder tells it. Anything else is a mistake of ours, which ends the process with its traceback.
"""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be done."""

    plan: TrainPlan
    dataset: Path
    folder: Path
    resume: bool = False
    material: Path | None = None
    """Of plans that learn from more than groups: a file of agents' attempts, or of their tasks."""


def run(job: Job, on_step: OnStep = lambda _: None) -> Result:
    """Train; the result stands in the folder as well. Raises BadPlan, BadRun or BadDataset where nothing was begun."""
    began = time.monotonic()
    # whoever is asked first has to know that there is no GPU: each process would take itself for the only one
    PartialState(cpu=not torch.cuda.is_available())
    groups = dataset.read(job.dataset, "train")
    _on_first(lambda: _prepare(job))
    if (done := run_folder.result(job.folder)) is not None:
        return done
    since = checkpoints.newest(job.folder)
    watch = Watch(job.folder, on_step)
    made = _Made()
    try:
        _train(job, groups, watch, made)
        status, why = Status.FINISHED, ""
    except (EngineDown, torch.OutOfMemoryError):
        raise  # not the run's fault, and no end of it: it goes on from its checkpoints
    except (BadPlan, checkpoints.Diverged) as error:
        status, why = Status.FAILED, str(error)
    except _ENDS as error:
        status, why = Status.FAILED, f"{type(error).__name__}: {error}"
    found = Result(
        status=status,
        why=why,
        plan=job.plan.name,
        trainer=job.plan.trainer.value,
        base=job.plan.model.base,
        steps=watch.steps,
        seconds=round(time.monotonic() - began, 2),
        resumed_from=since[1] if since else None,
        ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
        **asdict(made),
    )
    if PartialState().is_main_process:
        run_folder.write(job.folder / run_folder.RESULT, run_folder.as_json(found))
    return found


@dataclass(slots=True)
class _Made:
    """What is known of a run once its trainer stands, or is done."""

    of: int = 0
    filled: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    adapter_sha256: str | None = None


def _train(job: Job, groups: Sequence[TrainingGroup], watch: Watch, made: _Made) -> None:
    since = checkpoints.newest(job.folder)
    trainer = _trainer(job, groups)
    made.left_out, made.filled = dict(trainer.left_out), getattr(trainer, "filled", 0)
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(watch)
    made.of = trainer.args.max_steps
    trainer.train(resume_from_checkpoint=str(since[0]) if since else None)
    made.of = trainer.state.max_steps
    kept = job.folder / (run_folder.WEIGHTS if job.plan.adapter is None else run_folder.ADAPTER)
    _save(trainer, kept)
    if job.plan.adapter is not None and PartialState().is_main_process:
        made.adapter_sha256 = adapter_files.sha256_of(kept)
        if job.plan.trainer != Trainer.REWARD_MODEL:
            _probe(job, groups, trainer, made.adapter_sha256)


def _prepare(job: Job) -> None:
    """A folder to begin or to go on in. Raises BadRun."""
    plan, about = plan_file.toml(job.plan), _about(job.dataset)
    if job.folder.exists() and any(job.folder.iterdir()):
        if not job.resume:
            raise BadRun(f"{job.folder} holds a run already; go on with --resume, or name another")
        _same(job.folder / run_folder.PLAN, plan)
        _same(job.folder / run_folder.DATASET, about)
    job.folder.mkdir(parents=True, exist_ok=True)
    run_folder.write(job.folder / run_folder.PLAN, plan)
    run_folder.write(job.folder / run_folder.DATASET, about)
    found = run_folder.result(job.folder)
    if found is not None and found.status == Status.FINISHED:
        return
    for name in (run_folder.RESULT, run_folder.EVALUATION, run_folder.GATE):
        (job.folder / name).unlink(missing_ok=True)  # of what it made before
    since = checkpoints.newest(job.folder)
    run_folder.keep_until(job.folder, since[1] if since else 0)


def _same(path: Path, text: str) -> None:
    if path.exists() and path.read_text() != text:
        raise BadRun(
            f"{path} is another one than this; a run goes on as it began, or anew elsewhere"
        )


def _about(directory: Path) -> str:
    manifest = dataset.manifest(directory)
    return json.dumps({"digest": manifest.digest, "manifest": asdict(manifest)}, indent=2) + "\n"


def _trainer(job: Job, groups: Sequence[TrainingGroup]) -> Any:
    """The plan's trainer, with its checkpoints in the folder. Raises BadPlan."""
    if job.plan.trainer == Trainer.GRPO and job.plan.rollout.task == Task.REPAIR:
        from training import agent_rl, agent_tasks

        tasks = agent_tasks.read(job.material, _held_out(job.dataset))
        return agent_rl.trainer(job.plan, tasks, job.folder)
    if job.plan.trainer == Trainer.GRPO:
        from training import grpo

        return grpo.trainer(job.plan, groups, job.folder)
    if job.plan.trainer == Trainer.SFT:
        from training import sft

        return sft.trainer(job.plan, groups, job.folder)
    if job.plan.trainer == Trainer.REWARD_MODEL:
        from training import reward_model

        return reward_model.trainer(job.plan, groups, job.folder)
    from training import attempts_file, dpo

    attempts = attempts_file.read(job.material)
    return dpo.trainer(job.plan, attempts, _held_out(job.dataset), job.folder)


def _held_out(directory: Path) -> set[str]:
    """Issues of a dataset that are kept for evaluation."""
    names = dataset.manifest(directory).splits.keys() - {"train"}
    return {one.issue for name in names for one in dataset.read(directory, name)}


def _save(trainer: Any, directory: Path) -> None:
    """The weights that were trained. Every process takes part, since each may hold a piece."""
    beside = directory.with_name(f".{directory.name}.new")
    if trainer.is_fsdp_enabled:  # of shards, which checkpoints may be, nothing would be saved here
        trainer.accelerator.state.fsdp_plugin.set_state_dict_type("FULL_STATE_DICT")
    trainer.save_model(str(beside))
    PartialState().wait_for_everyone()
    if PartialState().is_main_process:
        run_folder.replace(
            beside, directory, keep=adapter_files.FILES if _is_adapter(beside) else ()
        )


def _is_adapter(directory: Path) -> bool:
    return (directory / adapter_files.CONFIG).exists()


def _probe(job: Job, groups: Sequence[TrainingGroup], trainer: Any, sha256: str) -> None:
    """What the trained adapter makes of a few prompts, so that a server can be asked the same."""
    template = prompts.load(job.plan.prompt.template)
    tokenizer = weights.tokenizer(job.plan)
    asked = [encoding.prompt_ids(tokenizer, questions.of_group(template, one)) for one in groups]
    model = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_fsdp_enabled:  # each process has a piece, and only this one asks
        model = PeftModel.from_pretrained(
            weights.causal(job.plan), str(job.folder / run_folder.ADAPTER)
        )
    measured = probe.measure(model, sorted(asked, key=len)[:_PROBED], sha256)
    run_folder.write(job.folder / run_folder.PROBE, run_folder.as_json(measured))


def _on_first(do: Callable[[], None]) -> None:
    """By the first process, while the others wait for it."""
    with PartialState().main_process_first():
        if PartialState().is_main_process:
            do()
