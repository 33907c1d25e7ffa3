"""Do the work of one slice, in its own process: unpack weights, train, judge, compare. Loads torch.

Each kind of work goes on where an earlier attempt stopped: trainings from their last checkpoint, judging from the run
file. `TimeUp` ends an attempt that has to go on later.
"""

import json
import resource
import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers.utils import logging

from model import catalog
from model.adapters import adapter_files
from model.engines import bf16_copy, local_transformers
from model.engines.weights import ModelFile
from model.evaluation import evaluation_run, judge_catalog, labelled_group, run_file
from training.gpu_proof import settings
from training.gpu_proof.bundle import hash_file
from training.gpu_proof.settings import SETS, ProofSize
from training.gpu_proof.shared_batches import SharedBatches
from training.gpu_proof.slices import PARITY, ProofSlice, SliceKind, must_stop
from training.runs import run_folder
from training.runs.run_folder import RunStatus, TrainingStep

_GIB = 1 << 30
Measured = Mapping[str, float]
"""Figures of an attempt by name."""


class TimeUp(Exception):
    """The attempt has used its time. A later one goes on."""


class SliceFailed(Exception):
    """The slice cannot finish. The message has the reason."""


@dataclass(frozen=True, slots=True)
class SliceContext:
    """Where a slice works, and until when."""

    home: Path
    size: ProofSize
    end: float
    """Seconds since the epoch."""

    @property
    def work(self) -> Path:
        """Folder of this size's models, trainings and results."""
        return self.home / self.size.name

    @property
    def base(self) -> Path:
        """Folder of the unpacked base model."""
        return self.work / "base"

    @property
    def runs(self) -> Path:
        """Folder of the trainings."""
        return self.work / "runs"

    @property
    def results(self) -> Path:
        """Folder of run files and records, which are sent back."""
        return self.work / "results"

    @property
    def device(self) -> str:
        """Torch's name of the device."""
        return "cuda" if torch.cuda.is_available() else "cpu"

    def check_time(self) -> None:
        """Raise TimeUp once the time is over."""
        if time.time() >= self.end:
            raise TimeUp


def do_slice(context: SliceContext, step: ProofSlice) -> Measured:
    """Do the work of a slice and return its figures. Raises TimeUp, SliceFailed and what the work raises."""
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
    work: Mapping[SliceKind, Callable[[SliceContext, ProofSlice], Measured]] = {
        SliceKind.WEIGHTS: unpack_weights,
        SliceKind.TRAIN: train_adapter,
        SliceKind.SCORE: judge_sets,
        SliceKind.PARITY: compare_adapter,
    }
    return dict(work[step.kind](context, step)) | {"peak_memory_gib": _measure_peak_memory()}


def unpack_weights(context: SliceContext, _step: ProofSlice) -> Measured:
    """Make the folder of the base model: a bf16 copy of a GGUF file, or a link to a folder that came as it is."""
    source = context.home / context.size.weights
    context.work.mkdir(parents=True, exist_ok=True)
    if not context.base.exists():
        copy = source
        if source.is_file():
            sha256 = hash_file(source)
            file = ModelFile(
                context.size.model, source.name, source.stat().st_size, sha256, None, ()
            )
            copy = bf16_copy.prepare(file, source, context.work / "copies")
        context.base.symlink_to(copy.resolve(), target_is_directory=True)
    return {}


def train_adapter(context: SliceContext, step: ProofSlice) -> Measured:
    """Train by the slice's plan, from the last checkpoint if there is one."""
    from training.trl import train

    plan = settings.build_plan(context.size, step.name, context.base, context.runs)
    steps: list[TrainingStep] = []

    def watch(done: TrainingStep) -> None:
        steps.append(done)
        # The first step of a process also warms up, so the median is the fair guess.
        usual = statistics.median([past.seconds for past in steps])
        if done.step < done.planned_steps and must_stop(
            time.time(), context.end, done.step, plan.checkpoints.every_steps, usual
        ):
            raise TimeUp

    job = train.TrainingJob(
        plan, context.home / "data" / "dataset", context.runs / step.name, resume=True
    )
    result = train.train(job, watch)
    if result.status is not RunStatus.FINISHED:
        raise SliceFailed(result.why)
    return measure_steps(run_folder.read_steps(context.runs / step.name))


def measure_steps(steps: list[TrainingStep]) -> Measured:
    """Return the number of steps, the median speed, and the last loss and reward of a training, where known."""
    speeds = [step.tokens_per_second for step in steps if step.tokens_per_second]
    figures: dict[str, float | None] = {
        "steps": float(len(steps)),
        "tokens_per_second": statistics.median(speeds) if speeds else None,
        "first_loss": steps[0].loss if steps else None,
        "last_loss": steps[-1].loss if steps else None,
        "first_reward": steps[0].reward if steps else None,
        "last_reward": steps[-1].reward if steps else None,
    }
    return {name: value for name, value in figures.items() if value is not None}


def judge_sets(context: SliceContext, step: ProofSlice) -> Measured:
    """Judge the evaluated groups with the base or a trained adapter, and keep each group as soon as it is judged."""
    size = context.size
    directory = context.runs / step.run / run_folder.ADAPTER if step.run else context.base
    engine = local_transformers.LocalTransformers(
        directory,
        model=f"{size.model} {step.run or 'base'}",
        device=context.device,
        tokenizer=context.base,
    )
    tokens, began = 0, time.monotonic()
    with closing(SharedBatches(engine)) as shared:
        # A boxed reply needs as many tokens as in training. YES or NO has a limit of its own.
        verifier = catalog.load_verifier(step.verifier, shared, reply_tokens=size.reply_tokens)
        judge = judge_catalog.build_judge(step.verifier, verifier, size.votes)
        for name in SETS:
            groups = evaluation_run.sample_groups(
                labelled_group.read_groups(context.home / "data" / f"{name}.jsonl.gz"), size.groups
            )
            path = context.results / f"{name}.{step.name}.jsonl"
            with run_file.open_run_file(path) as file:
                before = {group.key for group in file.judged}
                judged = evaluation_run.judge_groups(
                    groups,
                    judge,
                    file,
                    lambda _done: context.check_time(),
                    concurrency=size.concurrency,
                )
            fresh = [group for group in judged if group.key not in before]
            tokens += sum(group.tokens.prompt + group.tokens.completion for group in fresh)
    return {"tokens_per_second": round(tokens / (time.monotonic() - began), 1)} if tokens else {}


def compare_adapter(context: SliceContext, step: ProofSlice) -> Measured:
    """Score the trainer's probe with the adapter loaded anew, and write the comparison to the results."""
    from training.gpu_proof import parity
    from training.trl import model_loading

    plan = settings.build_plan(context.size, step.run, context.base, context.runs)
    run = context.runs / step.run
    base = model_loading.load_causal_model(plan)
    model = parity.load_adapter(base, run / run_folder.ADAPTER).to(context.device)
    document = parity.measure_parity(model, adapter_files.read_probe(run / run_folder.PROBE))
    context.results.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"run": step.run} | document, indent=2) + "\n"
    run_folder.write_file(context.results / f"{PARITY}.json", text)
    return {name: float(document[name]) for name in ("mean_distance", "effect")}


def _measure_peak_memory() -> float:
    """Return the most memory that this process held, in GiB: of the GPU if there is one."""
    if torch.cuda.is_available():
        return round(torch.cuda.max_memory_allocated() / _GIB, 3)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / _GIB, 3)


def describe_machine() -> dict[str, Any]:
    """Return the names and versions of the device and the libraries, as JSON values."""
    import transformers

    has_gpu = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if has_gpu else "CPU",
        "memory_gib": round(torch.cuda.mem_get_info()[1] / _GIB, 1) if has_gpu else None,
        "torch": torch.__version__,
        "transformers": transformers.__version__,
    }
