"""One training run from plan to adapter, by whichever trainer the plan names; goes on where a killed one stopped.

Several processes may run it side by side (accelerate, torchrun): the first writes, all train. Loads torch.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
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

from model.adapters import adapter_files
from model.errors import EngineDown, ModelError
from model.prompts import prompt_template
from training.datasets import agent_tasks, attempt_file, dataset, verifier_prompts
from training.datasets.agent_tasks import AgentTask
from training.datasets.groups import TrainingGroup
from training.datasets.guided_pairs import JudgedAttempt
from training.plans import plan_file
from training.plans.plan import BadPlan, Task, Trainer, TrainPlan
from training.rollouts import tokenization
from training.runs import provenance, run_folder
from training.runs.provenance import LearntFrom
from training.runs.run_folder import BadRun, Result, Status
from training.runs.run_lock import alone, is_empty
from training.trl import adapter_probe, checkpoints, grpo_config, model_loading
from training.trl.callbacks import OnStep, Watch

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
    grpo_config.check(job.plan, PartialState().num_processes)
    with ExitStack() as held:
        _on_first(lambda: held.enter_context(alone(job.folder)))
        groups = dataset.read(job.dataset, "train")
        material = _material(job)
        about = _about(job, groups, material)
        _on_first(lambda: _fits(job, about))
        done = run_folder.result(job.folder)
        if done is not None and done.status == Status.FINISHED:
            return done
        trainer = _built(job, groups, material)
        _on_first(lambda: _prepare(job, about))
        return _trained(job, groups, trainer, Watch(job.folder, on_step), began)


def _trained(
    job: Job, groups: Sequence[TrainingGroup], trainer: Any, watch: Watch, began: float
) -> Result:
    """What came of it, whichever way it ended. `began`: by the monotonic clock, in seconds."""
    since = checkpoints.newest(job.folder)
    made = _Made()
    try:
        _train(job, groups, trainer, watch, made)
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


def _train(
    job: Job, groups: Sequence[TrainingGroup], trainer: Any, watch: Watch, made: _Made
) -> None:
    since = checkpoints.newest(job.folder)
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


Material = Sequence[JudgedAttempt] | Sequence[AgentTask]
"""What is learnt from besides groups."""


def _material(job: Job) -> Material:
    """Of the plan's sort. Raises BadPlan where it is missing, or can't be learnt from."""
    if job.plan.trainer == Trainer.DPO:
        return attempt_file.read(job.material)
    if _has_episodes(job.plan):
        return agent_tasks.read(job.material, _held_out(job.dataset))
    if job.material is not None:
        raise BadPlan(f"{job.plan.name} learns from groups alone; leave --material out")
    return ()


def _has_episodes(plan: TrainPlan) -> bool:
    return plan.trainer == Trainer.GRPO and plan.rollout.task == Task.REPAIR


def _about(job: Job, groups: Sequence[TrainingGroup], material: Material) -> LearntFrom:
    """What is learnt from. Raises BadPlan."""
    besides = {one.issue for one in material}
    if besides:
        besides -= _held_out(job.dataset)
    issues = besides | {one.issue for one in groups}
    return provenance.note(job.plan, dataset.manifest(job.dataset), job.material, issues)


def _fits(job: Job, about: LearntFrom) -> None:
    """Whether the folder is there to begin or to go on in. Raises BadRun."""
    if is_empty(job.folder):
        return
    if not job.resume:
        raise BadRun(f"{job.folder} holds a run already; go on with --resume, or name another")
    faults = checkpoints.differences(job.folder, PartialState().num_processes)
    if (job.folder / run_folder.PLAN).exists():
        faults += plan_file.differences(_began(job.folder), job.plan)
    if (job.folder / run_folder.DATASET).exists():
        faults += provenance.differences(provenance.read(job.folder), about)
    if faults:
        raise BadRun(
            f"{job.folder} began otherwise: {'; '.join(faults)}; a run goes on as it began, or anew elsewhere"
        )


def _began(folder: Path) -> TrainPlan:
    """The plan that a run began by; what it does not say has its default. Raises BadRun."""
    try:
        return plan_file.load(folder / run_folder.PLAN)
    except BadPlan as error:
        raise BadRun(f"{error}; train anew in another folder") from error


def _prepare(job: Job, about: LearntFrom) -> None:
    """Leave in the folder what the run is, and nothing of what it did after the checkpoint that it goes on from."""
    run_folder.write(job.folder / run_folder.PLAN, plan_file.toml(job.plan))
    run_folder.write(job.folder / run_folder.DATASET, provenance.text(about))
    for name in (run_folder.RESULT, run_folder.EVALUATION, run_folder.GATE):
        (job.folder / name).unlink(missing_ok=True)  # of what it made before
    since = checkpoints.newest(job.folder)
    run_folder.keep_until(job.folder, since[1] if since else 0)


def _built(job: Job, groups: Sequence[TrainingGroup], material: Material) -> Any:
    """The plan's trainer, before anything is written. Raises BadPlan with whatever keeps it from beginning."""
    try:
        return _trainer(job, groups, material)
    except (BadPlan, EngineDown, torch.OutOfMemoryError):
        raise
    except _ENDS as error:
        raise BadPlan(f"{job.plan.name} can't begin: {type(error).__name__}: {error}") from error


def _trainer(job: Job, groups: Sequence[TrainingGroup], material: Any) -> Any:
    """With its checkpoints in the folder."""
    if _has_episodes(job.plan):
        from training.trl import agent_grpo

        return agent_grpo.trainer(job.plan, material, job.folder)
    if job.plan.trainer == Trainer.GRPO:
        from training.trl import grpo

        return grpo.trainer(job.plan, groups, job.folder)
    if job.plan.trainer == Trainer.SFT:
        from training.trl import sft

        return sft.trainer(job.plan, groups, job.folder)
    if job.plan.trainer == Trainer.REWARD_MODEL:
        from training.trl import reward_model

        return reward_model.trainer(job.plan, groups, job.folder)
    from training.trl import dpo

    return dpo.trainer(job.plan, material, _held_out(job.dataset), job.folder)


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
    if not PartialState().is_main_process:
        return
    if is_adapter := (beside / adapter_files.CONFIG).exists():
        adapter_files.settle(beside)
    run_folder.replace(beside, directory, keep=adapter_files.FILES if is_adapter else ())


def _probe(job: Job, groups: Sequence[TrainingGroup], trainer: Any, sha256: str) -> None:
    """What the trained adapter makes of a few prompts, so that a server can be asked the same."""
    template = prompt_template.load(job.plan.prompt.template)
    tokenizer = model_loading.tokenizer(job.plan)
    asked = [
        tokenization.prompt_ids(tokenizer, verifier_prompts.of_group(template, one))
        for one in groups
    ]
    model = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_fsdp_enabled:  # each process has a piece, and only this one asks
        model = PeftModel.from_pretrained(
            model_loading.causal(job.plan), str(job.folder / run_folder.ADAPTER)
        )
    measured = adapter_probe.measure(model, sorted(asked, key=len)[:_PROBED], sha256)
    run_folder.write(job.folder / run_folder.PROBE, run_folder.as_json(measured))


def _on_first(do: Callable[[], None]) -> None:
    """By the first process, while the others wait for it."""
    with PartialState().main_process_first():
        if PartialState().is_main_process:
            do()
