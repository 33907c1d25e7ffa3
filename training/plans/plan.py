"""Define the plan of a training run. One plan serves every training engine.

`plan_file.py` reads it. `training/trl/grpo_config.py` renders it for TRL, and `training/verl/hydra_overrides.py` for verl.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
Part = Annotated[float, Field(gt=0, lt=1)]
Share = Annotated[float, Field(gt=0, le=1)]
NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
_STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


class BadPlan(ValueError):
    """A plan that cannot be read or followed. The message names key, value and fix."""


class TrainingMethod(StrEnum):
    """How a training run teaches the model."""

    GRPO = "grpo"
    """From rewards of its own replies (DeepSeekMath; R4P, section 3)."""
    SFT = "sft"
    """From given replies."""
    DPO = "dpo"
    """From pairs of a better and a worse attempt."""
    REWARD_MODEL = "reward-model"
    """To score patches, from pairs (Bradley-Terry)."""


class RolloutEngine(StrEnum):
    """Which engine samples the replies."""

    TRANSFORMERS = "transformers"
    """The model in training, in the trainer's process."""
    SERVER = "server"
    """A vLLM server that loads the current adapter before each round."""
    COLOCATED = "colocated"
    """A vLLM inside the trainer's process, on the same GPUs."""


class RolloutTask(StrEnum):
    """What the model has to do in a rollout."""

    JUDGE = "judge"
    """Judge a group of patches, as the bot does."""
    REPAIR = "repair"
    """Resolve an issue as an agent. The verifier judges the patch."""
    IMITATE = "imitate"
    """Repair the shown files like the merged fix (SWE-RL)."""


class AdvantageEstimator(StrEnum):
    """How the rewards of one group become advantages, see `training/objective/policy_gradient.py`."""

    GRPO = "grpo"
    LEAVE_ONE_OUT = "leave-one-out"
    WITHOUT_DEVIATION = "without-deviation"


class LossAggregation(StrEnum):
    """How token losses are averaged. L is the longest reply allowed."""

    TOKEN_MEAN = "token-mean"  # noqa: S105 - no secret
    """Every token of the step weighs the same (DAPO)."""
    CONSTANT_LENGTH = "constant-length"
    """Sum over L times the number of replies (Dr. GRPO)."""
    SEQUENCE_MEAN = "sequence-mean"
    """Mean of the replies' means, so that every reply weighs the same."""


class ImportanceCorrection(StrEnum):
    """How the loss weighs replies of another engine: each token, or its sequence, by a probability ratio.

    A ratio above the ceiling is cut to it (truncate) or gives the weight 0 (mask).
    """

    OFF = "off"
    TOKEN_TRUNCATE = "token-truncate"  # noqa: S105 - no secret
    TOKEN_MASK = "token-mask"  # noqa: S105 - no secret
    SEQUENCE_TRUNCATE = "sequence-truncate"
    SEQUENCE_MASK = "sequence-mask"


class OverlongHandling(StrEnum):
    """What happens to replies that reached the length limit."""

    KEEP = "keep"
    MASK = "mask"
    """Their tokens get no loss. Their reward still counts in the group's mean."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Plan settings of the model to train."""

    __pydantic_config__ = _STRICT
    base: str
    """A folder, or a name in a model hub."""
    adapter: str = ""
    """`RUN/adapter` of a run on the same base, to continue its LoRA. "": start a new one."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    gradient_checkpointing: bool = True
    """Halves the memory of activations and adds a third of the time."""


@dataclass(frozen=True, slots=True)
class LoraSettings:
    """A plain LoRA adapter that vLLM can load: no bias, embeddings or head (Hu et al., 2021)."""

    __pydantic_config__ = _STRICT
    rank: Count = 32
    alpha: Count = 64
    dropout: Fraction = 0.0
    targets: Annotated[tuple[str, ...], Field(min_length=1)] = (
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class PromptSettings:
    """Plan settings of the verifier's prompt."""

    __pydantic_config__ = _STRICT
    template: str = "r4p_group"
    """A name in model/prompts, or a file path."""
    max_tokens: Count = 8192
    """Longer prompts are left out and counted, never cut."""


@dataclass(frozen=True, slots=True)
class RolloutSettings:
    """Plan settings for sampling replies. All replies of a round come from the same weights."""

    __pydantic_config__ = _STRICT
    prompts: Count = 128
    """Prompts of one round."""
    replies: Annotated[int, Field(ge=2)] = 16
    """Replies to each prompt: the GRPO group."""
    max_tokens: Count = 4096
    passes: Count = 1
    """Number of times that each round is trained on."""
    temperature: Positive = 1.0
    top_p: Share = 1.0
    engine: RolloutEngine = RolloutEngine.TRANSFORMERS
    url: str = ""
    """The server, such as `http://127.0.0.1:8000/v1`. `--engine-url` overrides it."""
    api_key_file: str = ""
    """File with the server's API key. The plan is stored with its run, so it names the file only."""
    gpu_memory: Part = 0.5
    """Share of a GPU for a colocated vLLM while it samples. It sleeps otherwise."""
    task: RolloutTask = RolloutTask.JUDGE
    imitation: Literal["continuous", "discrete"] = "continuous"
    """Reward of an imitation: the patches' similarity, or 1 for the same patch only (SWE-RL, section 3.6)."""
    max_turns: Count = 1
    turn_tokens: Count = 4096
    """Maximum tokens of one agent turn. `max_tokens` then limits all turns and tool outputs together."""


@dataclass(frozen=True, slots=True)
class PolicySettings:
    """Plan settings of the policy-gradient loss."""

    __pydantic_config__ = _STRICT
    advantage: AdvantageEstimator = AdvantageEstimator.GRPO
    loss: LossAggregation = LossAggregation.TOKEN_MEAN
    clip_low: Fraction = 0.2
    clip_high: NotNegative = 0.28
    ratio_ceiling: Positive | None = 10.0
    """Highest ratio for negative advantages (dual clip). Must exceed `1 + clip_high`."""
    kl: NotNegative = 0.0
    entropy_bonus: NotNegative = 0.0
    importance: ImportanceCorrection = ImportanceCorrection.OFF
    importance_ceiling: Annotated[float, Field(ge=1)] | None = None
    overlong: OverlongHandling = OverlongHandling.KEEP
    drop_uniform_groups: bool = False
    """Replace groups of equal rewards by other groups."""


@dataclass(frozen=True, slots=True)
class SupervisedSettings:
    """Plan settings of supervised fine-tuning."""

    __pydantic_config__ = _STRICT
    task: Literal["boxed", "yes-no", "attempts"] = "boxed"
    """`boxed`: answers to groups. `yes-no`: one patch (R2E-Gym). `attempts`: an agent's correct attempts (Agent-RLVR)."""
    trajectories: bool = False
    """Show the attempt that led to a patch, where it is known: for the verifier `yes-no-trajectory`."""
    share: Share = 1.0
    """Share of the correct attempts to learn from, drawn by the plan's seed."""
    max_tokens: Count = 32768
    """Prompt and reply. Longer examples are left out and counted, trajectories shortened."""


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Plan settings of learning from pairs of patches or attempts (reward model, DPO)."""

    __pydantic_config__ = _STRICT
    beta: Positive = 0.1
    """DPO's penalty for leaving the start model. Smaller values allow larger changes."""
    flip_rate: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Assumed share of pairs in the wrong order."""
    margin: bool = False
    """Scale the reward model's score differences to the pairs' margins."""
    max_tokens: Count = 8192


@dataclass(frozen=True, slots=True)
class RewardSettings:
    """The verifier that judges an agent's patches, on its own engine."""

    __pydantic_config__ = _STRICT
    url: str = ""
    """An OpenAI-compatible server, such as `http://127.0.0.1:8001/v1`."""
    api_key_file: str = ""
    model: str = ""
    """The server's model name. "": its only model."""
    verifier: str = "r4p"
    prompt: str = ""
    """Prompt template, or `VERIFIER=FILE` for parts of a hybrid. "": the verifier's own."""
    votes: Count = 5
    reply_tokens: Count = 2048
    binary: bool = False
    """Reward 1 for a majority of the readable votes and 0 otherwise. False: the share of these votes."""
    edited_lines: Annotated[int, Field(ge=0)] = 0
    """Fewest added and removed lines of a rewarded patch. The reward of a shorter patch is unknown."""


@dataclass(frozen=True, slots=True)
class OptimiserSettings:
    """Plan settings of the AdamW optimiser and the amount of data."""

    __pydantic_config__ = _STRICT
    learning_rate: Positive = 1e-6
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    warmup_ratio: Fraction = 0.0
    """Share of all steps, rounded up, in place of `warmup_steps`."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_gradient_norm: Positive = 1.0
    epochs: Count = 1
    max_steps: Count | None = None
    """Stop after this many steps. None: after all epochs."""
    batch: Count = 128
    """Prompts (GRPO), examples or pairs of one optimiser step, over all processes."""
    micro_batch: Count = 1
    """Sequences of one forward pass in one process."""


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """How often a run writes a checkpoint, and how many it keeps."""

    __pydantic_config__ = _STRICT
    every_steps: Count = 10
    keep: Count = 2


@dataclass(frozen=True, slots=True)
class ClusterSize:
    """The number of machines and processes that a training plan is for."""

    __pydantic_config__ = _STRICT
    nodes: Count = 1
    processes: Count = 1
    """GPUs of one node, or processes without GPUs."""
    sequence_parallel: Count = 1
    rollout_tensor_parallel: Count = 1


@dataclass(frozen=True, slots=True)
class TrainPlan:
    """All settings of one training, for any training engine."""

    __pydantic_config__ = _STRICT
    name: str
    trainer: TrainingMethod
    model: ModelSettings
    about: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """32 bits, as NumPy requires."""
    adapter: LoraSettings | None = None
    """None: train all weights."""
    prompt: PromptSettings = field(default_factory=PromptSettings)
    rollout: RolloutSettings = field(default_factory=RolloutSettings)
    policy: PolicySettings = field(default_factory=PolicySettings)
    supervised: SupervisedSettings = field(default_factory=SupervisedSettings)
    pairs: PairSettings = field(default_factory=PairSettings)
    reward: RewardSettings = field(default_factory=RewardSettings)
    optimiser: OptimiserSettings = field(default_factory=OptimiserSettings)
    checkpoints: CheckpointSettings = field(default_factory=CheckpointSettings)
    scale: ClusterSize = field(default_factory=ClusterSize)
