"""The sizes of a proof: which weights, how many steps, how many groups. They travel with the bundle as JSON."""

import json
from dataclasses import dataclass, replace
from pathlib import Path

from model import typed_json
from training.gpu_proof.bundle import BadPart
from training.gpu_proof.slices import BOXED_SFT, GRPO, YES_NO_SFT
from training.plans import plan_file
from training.plans.plan import (
    ClusterSize,
    ImportanceCorrection,
    LoraSettings,
    RolloutEngine,
    TrainPlan,
)

FILE = "settings.json"
SETS = ("distinct", "r4p_style")
"""Names of the evaluated files of groups."""


@dataclass(frozen=True, slots=True)
class ProofSize:
    """One size of the proof. The defaults are those of the 0.5B model on one large GPU."""

    name: str
    model: str
    """Name of the model in reports."""
    weights: str
    """Path in the home folder: a GGUF file, or the folder of a model."""
    needs_gpu: bool = True
    is_float32: bool = False
    """Train in 32 bits, for a tiny model on a CPU."""
    groups: int | None = None
    """Most groups of an evaluated file; None: all."""
    votes: int = 4
    concurrency: int = 16
    """Groups judged at a time. Their prompts share batches."""
    rank: int = 8
    """Rank of the adapters. An adapter of rank 8 of the 0.5B model has 18 MB."""
    learning_rate: float = 1e-4
    example_tokens: int = 4096
    batch: int = 32
    """Examples of a supervised step."""
    micro_batch: int = 4
    """Sequences of one forward pass. The logits of four of 4,096 tokens take about 15 GB with their gradient."""
    epochs: int = 3
    """Orders of the data that are laid out. The steps below end a training."""
    yes_no_steps: int = 120
    boxed_steps: int = 60
    rounds: int = 20
    """Rounds of GRPO, with one step each."""
    prompts: int = 16
    replies: int = 8
    reply_tokens: int = 64
    policy_rate: float = 5e-5
    """Learning rate of GRPO."""
    checkpoint_steps: int = 5


QUICK = ProofSize(
    "quick",
    "smollm2-135m-instruct",
    "weights/SmolLM2-135M-Instruct.Q4_1.gguf",
    groups=8,
    yes_no_steps=6,
    boxed_steps=6,
    rounds=2,
    prompts=4,
    checkpoint_steps=2,
)
FULL = ProofSize(
    "full", "qwen2.5-coder-0.5b-instruct", "weights/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
)


def read_size(home: Path, name: str) -> ProofSize:
    """Read the size `name` of the bundle in `home`. Raises BadPart."""
    try:
        written = json.loads((home / FILE).read_text())
        return typed_json.read(ProofSize, written[name])
    except KeyError as error:
        raise BadPart(f"no size {error} in {home / FILE}; it has {', '.join(written)}") from error
    except (OSError, ValueError, TypeError) as error:
        raise BadPart(f"{home / FILE} can't be read ({error}); send its part again") from error


def build_plan(size: ProofSize, training: str, base: Path, runs: Path) -> TrainPlan:
    """Return the plan of a training of the proof: the shipped plan of its method, cut to `size` and one process.

    `base` is the folder of the base model, and `runs` that of the proof's trainings.
    """
    shipped = {YES_NO_SFT: "yes-no-sft", BOXED_SFT: "boxed-sft", GRPO: "r4p-qwen2.5-coder-0.5b"}
    plan = plan_file.load_plan(shipped[training])
    steps = {YES_NO_SFT: size.yes_no_steps, BOXED_SFT: size.boxed_steps, GRPO: size.rounds}
    plan = replace(
        plan,
        name=training,
        model=replace(
            plan.model,
            base=str(base),
            dtype="float32" if size.is_float32 else "bfloat16",
            gradient_checkpointing=False,
        ),
        adapter=LoraSettings(size.rank, 2 * size.rank),
        supervised=replace(plan.supervised, max_tokens=size.example_tokens),
        optimiser=replace(
            plan.optimiser,
            learning_rate=size.learning_rate,
            batch=size.batch,
            micro_batch=size.micro_batch,
            epochs=size.epochs,
            max_steps=steps[training],
        ),
        checkpoints=replace(plan.checkpoints, every_steps=size.checkpoint_steps),
        scale=ClusterSize(),
    )
    return _build_policy_plan(size, plan, runs) if training == GRPO else plan


def _build_policy_plan(size: ProofSize, plan: TrainPlan, runs: Path) -> TrainPlan:
    """Return the plan of GRPO after the boxed SFT: the trainer's own model samples, and a round is one step."""
    return replace(
        plan,
        model=replace(plan.model, adapter=str(runs / BOXED_SFT / "adapter")),
        supervised=type(plan.supervised)(),
        prompt=replace(plan.prompt, max_tokens=size.example_tokens),
        rollout=replace(
            plan.rollout,
            prompts=size.prompts,
            replies=size.replies,
            max_tokens=size.reply_tokens,
            engine=RolloutEngine.TRANSFORMERS,
        ),
        policy=replace(plan.policy, importance=ImportanceCorrection.OFF, importance_ceiling=None),
        optimiser=replace(
            plan.optimiser,
            learning_rate=size.policy_rate,
            batch=size.prompts,
            warmup_steps=min(2, size.rounds - 1),
        ),
    )
