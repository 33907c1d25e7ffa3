"""Run one training from plan to adapter, resuming a killed run at its last checkpoint. Loads torch.

Several processes may run it together (accelerate, torchrun): all train, the main process writes.
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
from huggingface_hub import constants as hub_constants
from jinja2 import TemplateError
from safetensors import SafetensorError
from transformers import PrinterCallback

from model.adapters import adapter_files
from model.errors import EngineDown, ModelError
from model.prompts import prompt_template
from model.verifiers import judge_prompts
from training.datasets import agent_tasks, dataset, merged_fixes, pairs
from training.datasets.agent_tasks import AgentTask
from training.datasets.groups import TrainingGroup
from training.datasets.merged_fixes import MergedFix
from training.datasets.pairs import JudgedAttempt
from training.plans import plan_file
from training.plans.plan import BadPlan, RolloutTask, TrainingMethod, TrainPlan
from training.runs import provenance, run_folder
from training.runs.provenance import Provenance
from training.runs.run_folder import BadRun, RunResult, RunStatus
from training.runs.run_lock import is_empty_run, lock_run
from training.trl import checkpoints, grpo_config, trained_weights
from training.trl.callbacks import MetricsCallback, OnStep

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
"""Errors of our code, torch, TRL, disks, weights and chat templates that end a run with the status `failed`.
Any other error is a bug and ends the process with its traceback.
"""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """One training to run: its plan, dataset and run folder."""

    plan: TrainPlan
    dataset: Path
    folder: Path
    resume: bool = False
    material: Path | None = None
    """A file of agents' attempts or tasks, for plans that need one."""


def train(job: TrainingJob, on_step: OnStep = lambda _: None) -> RunResult:
    """Run one training and return its result, which is also written to the run's folder.

    `on_step` is called after each optimiser step. Raises BadPlan, BadRun or BadDataset if training could not start, and
    EngineDown or torch.OutOfMemoryError for a run that can be resumed.
    """
    began = time.monotonic()
    # TRL tells the model hub about each trainer, from a thread. A self-hosted bot reports to nobody.
    hub_constants.HF_HUB_DISABLE_TELEMETRY = True
    # The first PartialState fixes the backend. Without `cpu`, each CPU process would run alone.
    PartialState(cpu=not torch.cuda.is_available())
    grpo_config.check_plan(job.plan, PartialState().num_processes)
    with ExitStack() as held:
        # Parallel processes: exactly one takes the lock, and the others wait for it in `_run_on_main`.
        _run_on_main(lambda: held.enter_context(lock_run(job.folder)))
        groups = dataset.read_split(job.dataset, "train")
        material = _read_material(job)
        about = _build_provenance(job, groups, material)
        _run_on_main(lambda: _check_folder(job, about))
        done = run_folder.read_result(job.folder)
        # A finished run is returned as it is, so that a repeated command is harmless.
        if done is not None and done.status == RunStatus.FINISHED:
            return done
        # Built before anything is written: a plan that cannot start leaves no half-made run.
        trainer = _build_or_refuse(job, groups, material)
        _run_on_main(lambda: _prepare_folder(job, about))
        return _train_to_result(job, groups, trainer, MetricsCallback(job.folder, on_step), began)


def _train_to_result(
    job: TrainingJob,
    groups: Sequence[TrainingGroup],
    trainer: Any,
    watch: MetricsCallback,
    began: float,
) -> RunResult:
    """Train and write the result of success or failure. `began` is a monotonic time in seconds."""
    # Found before training: `_train` itself may write newer checkpoints.
    resumed = checkpoints.find_newest(job.folder)
    facts = _RunFacts()
    try:
        _train(job, groups, trainer, watch, facts)
        status, why = RunStatus.FINISHED, ""
    except (EngineDown, torch.OutOfMemoryError):
        raise  # not the run's fault, and no end of it: it goes on from its checkpoints
    except (BadPlan, checkpoints.TrainingDiverged) as error:
        status, why = RunStatus.FAILED, str(error)
    except _ENDS as error:
        status, why = RunStatus.FAILED, f"{type(error).__name__}: {error}"
    result = RunResult(
        status=status,
        why=why,
        plan=job.plan.name,
        trainer=job.plan.trainer.value,
        base=job.plan.model.base,
        steps=watch.steps,
        seconds=round(time.monotonic() - began, 2),
        resumed_from=resumed[1] if resumed else None,
        ended_at=datetime.now(UTC).isoformat(timespec="seconds"),
        **asdict(facts),
    )
    if PartialState().is_main_process:
        run_folder.write_file(job.folder / run_folder.RESULT, run_folder.format_json(result))
    return result


@dataclass(slots=True)
class _RunFacts:
    """Facts about a run that its result needs."""

    planned_steps: int = 0
    filled: int = 0
    left_out: dict[str, int] = field(default_factory=dict)
    adapter_sha256: str | None = None


def _train(
    job: TrainingJob,
    groups: Sequence[TrainingGroup],
    trainer: Any,
    watch: MetricsCallback,
    facts: _RunFacts,
) -> None:
    resumed = checkpoints.find_newest(job.folder)
    facts.left_out, facts.filled = dict(trainer.left_out), getattr(trainer, "filled", 0)
    # It prints every log to stdout, where the command prints its result.
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(watch)
    facts.planned_steps = trainer.args.max_steps
    trainer.train(resume_from_checkpoint=str(resumed[0]) if resumed else None)
    # transformers derives the real number of steps from the data only in `train`.
    facts.planned_steps = trainer.state.max_steps
    kept = job.folder / (run_folder.WEIGHTS if job.plan.adapter is None else run_folder.ADAPTER)
    trained_weights.save_weights(trainer, kept)
    # All shards took part in saving. Hash and probe need the main process only.
    if job.plan.adapter is not None and PartialState().is_main_process:
        facts.adapter_sha256 = adapter_files.hash_adapter(kept)
        # A reward model has no next-token probabilities to probe.
        if job.plan.trainer != TrainingMethod.REWARD_MODEL:
            trained_weights.write_probe(job.plan, job.folder, groups, trainer, facts.adapter_sha256)


Material = Sequence[JudgedAttempt] | Sequence[AgentTask] | Sequence[MergedFix]
"""What a plan learns from besides groups."""


def _read_material(job: TrainingJob) -> Material:
    """Read the plan's material. Raises BadPlan if it is missing or unusable."""
    if job.plan.trainer == TrainingMethod.DPO or _has_attempts(job.plan):
        return pairs.read_attempts(job.material)
    if job.plan.rollout.task == RolloutTask.IMITATE:
        return merged_fixes.read_fixes(job.material, _list_held_out(job.dataset))
    if _has_episodes(job.plan):
        return agent_tasks.read_tasks(job.material, _list_held_out(job.dataset))
    if job.material is not None:
        raise BadPlan(f"{job.plan.name} learns from groups only; remove --material")
    return ()


def _has_episodes(plan: TrainPlan) -> bool:
    return plan.trainer == TrainingMethod.GRPO and plan.rollout.task == RolloutTask.REPAIR


def _has_attempts(plan: TrainPlan) -> bool:
    return plan.trainer == TrainingMethod.SFT and plan.supervised.task == "attempts"


def _has_judge(plan: TrainPlan) -> bool:
    """Return whether the plan trains a judge, and not an agent."""
    has_repairs = _has_attempts(plan) or plan.rollout.task != RolloutTask.JUDGE
    return plan.trainer != TrainingMethod.DPO and not has_repairs


def _build_provenance(
    job: TrainingJob, groups: Sequence[TrainingGroup], material: Material
) -> Provenance:
    """Return the provenance of the run. Raises BadPlan."""
    besides = {item.issue for item in material}
    if besides:
        besides -= _list_held_out(job.dataset)
    issues = besides | {group.issue for group in groups}
    return provenance.record_provenance(
        job.plan, dataset.read_manifest(job.dataset), job.material, issues
    )


def _check_folder(job: TrainingJob, about: Provenance) -> None:
    """Raise BadRun unless the folder is empty or holds the same run to resume."""
    if is_empty_run(job.folder):
        return
    if not job.resume:
        raise BadRun(f"{job.folder} holds a run already; resume it with --resume, or name another")
    faults = checkpoints.list_differences(job.folder, PartialState().num_processes)
    if (job.folder / run_folder.PLAN).exists():
        faults += plan_file.list_differences(_read_started_plan(job.folder), job.plan)
    if (job.folder / run_folder.DATASET).exists():
        faults += provenance.list_differences(provenance.read_provenance(job.folder), about)
    if faults:
        raise BadRun(
            f"{job.folder} started with other settings: {'; '.join(faults)}; resume with the same settings, or train in a new folder"
        )


def _read_started_plan(folder: Path) -> TrainPlan:
    """Return the plan that the run started with. Raises BadRun."""
    try:
        return plan_file.load_plan(folder / run_folder.PLAN)
    except BadPlan as error:
        raise BadRun(f"{error}; train in another folder") from error


def _prepare_folder(job: TrainingJob, about: Provenance) -> None:
    """Write the plan and its provenance, and delete everything after the checkpoint to resume from."""
    run_folder.write_file(job.folder / run_folder.PLAN, plan_file.to_toml(job.plan))
    run_folder.write_file(job.folder / run_folder.DATASET, provenance.to_json(about))
    if _has_judge(job.plan):  # it is asked with this copy, wherever the template went
        source = prompt_template.load(job.plan.prompt.template).source
        run_folder.write_file(job.folder / judge_prompts.COPY, source)
    for name in (run_folder.RESULT, run_folder.EVALUATION, run_folder.GATE):
        (job.folder / name).unlink(missing_ok=True)  # of what it made before
    resumed = checkpoints.find_newest(job.folder)
    run_folder.truncate_steps(job.folder, resumed[1] if resumed else 0)


def _build_or_refuse(job: TrainingJob, groups: Sequence[TrainingGroup], material: Material) -> Any:
    """Build the plan's trainer before anything is written. Raises BadPlan with the obstacle."""
    try:
        return _build_trainer(job, groups, material)
    except (BadPlan, EngineDown, torch.OutOfMemoryError):
        raise
    except _ENDS as error:
        raise BadPlan(f"{job.plan.name} can't start: {type(error).__name__}: {error}") from error


def _build_trainer(job: TrainingJob, groups: Sequence[TrainingGroup], material: Any) -> Any:
    """Build the trainer of the plan's method, importing only that method."""
    if _has_episodes(job.plan):
        from training.trl import agent_grpo

        return agent_grpo.build_trainer(job.plan, material, job.folder)
    if job.plan.trainer == TrainingMethod.GRPO:
        from training.trl import grpo

        if imitates := job.plan.rollout.task == RolloutTask.IMITATE:
            groups = material
        build: Any = grpo.build_imitation_trainer if imitates else grpo.build_trainer
        return build(job.plan, groups, job.folder)
    if job.plan.trainer == TrainingMethod.SFT:
        from training.trl import sft

        if _has_attempts(job.plan):
            return sft.build_attempt_trainer(
                job.plan, material, _list_held_out(job.dataset), job.folder
            )
        return sft.build_trainer(job.plan, groups, job.folder)
    if job.plan.trainer == TrainingMethod.REWARD_MODEL:
        from training.trl import reward_model

        return reward_model.build_trainer(job.plan, groups, job.folder)
    from training.trl import dpo

    return dpo.build_trainer(job.plan, material, _list_held_out(job.dataset), job.folder)


def _list_held_out(directory: Path) -> set[str]:
    """Return the dataset's issues outside the training split."""
    names = dataset.read_manifest(directory).splits.keys() - {"train"}
    return {group.issue for name in names for group in dataset.read_split(directory, name)}


def _run_on_main(do: Callable[[], None]) -> None:
    """Run a function in the main process while the others wait."""
    with PartialState().main_process_first():
        if PartialState().is_main_process:
            do()
