"""A training run's plan: what is trained, how, on how many machines. One plan for every engine that trains.

`training/trl/grpo_config.py` renders it for TRL, `training/verl/hydra_overrides.py` for verl; each refuses a setting that its engine
can't honour. Values are frozen, and checked where the file comes in: `training/plans/plan_file.py`.
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
    """A plan that can't be read or followed: names the key, the value and the fix."""


class Trainer(StrEnum):
    """How a model is taught."""

    GRPO = "grpo"
    """From rewards of its own replies (DeepSeekMath; R4P, section 3)."""
    SFT = "sft"
    """From replies that are given."""
    DPO = "dpo"
    """From pairs, one better than the other."""
    REWARD_MODEL = "reward-model"
    """To score, from pairs (Bradley-Terry)."""


class Engine(StrEnum):
    """Who writes the replies that are rewarded."""

    TRANSFORMERS = "transformers"
    """The model being trained, in the trainer's own process."""
    SERVER = "server"
    """A vLLM server that is given the adapter anew for each round."""
    COLOCATED = "colocated"
    """A vLLM inside the trainer's process, on the same GPUs."""


class Task(StrEnum):
    """What a reply is an answer to."""

    JUDGE = "judge"
    """A group of patches is judged, as the bot does."""
    REPAIR = "repair"
    """An agent resolves an issue, and the verifier judges its patch."""


class Advantage(StrEnum):
    """How rewards of one group become advantages; formulas in training/objective/advantages.py."""

    GRPO = "grpo"
    LEAVE_ONE_OUT = "leave-one-out"
    WITHOUT_DEVIATION = "without-deviation"


class Loss(StrEnum):
    """How the losses of a step's tokens become one number."""

    TOKEN_MEAN = "token-mean"  # noqa: S105 - no secret
    """Every token of the step weighs the same (DAPO)."""
    CONSTANT_LENGTH = "constant-length"
    """The sum, over the longest reply allowed times the number of replies (Dr. GRPO)."""
    SEQUENCE_MEAN = "sequence-mean"
    """Every reply weighs the same, whatever its length."""


class Importance(StrEnum):
    """How the loss is corrected for replies that another engine sampled. Nothing is left to an engine's default."""

    OFF = "off"
    TOKEN_TRUNCATE = "token-truncate"  # noqa: S105 - no secret
    TOKEN_MASK = "token-mask"  # noqa: S105 - no secret
    SEQUENCE_TRUNCATE = "sequence-truncate"
    SEQUENCE_MASK = "sequence-mask"


class Overlong(StrEnum):
    """What becomes of replies that were cut off at their longest."""

    KEEP = "keep"
    MASK = "mask"
    """They teach nothing; their reward still counts for their group's mean."""


@dataclass(frozen=True, slots=True)
class Model:
    """What is trained."""

    __pydantic_config__ = _STRICT
    base: str
    """A directory, or a name in a model hub."""
    adapter: str = ""
    """`RUN/adapter` of a run on the same base: that LoRA is trained on; "" puts a new one on."""
    dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Of the weights."""
    gradient_checkpointing: bool = True
    """Half the memory for activations, a third more time."""


@dataclass(frozen=True, slots=True)
class Lora:
    """A plain low-rank adapter, as vLLM takes it: no bias, no embeddings, no head (Hu et al., 2021)."""

    __pydantic_config__ = _STRICT
    rank: Count = 32
    alpha: Count = 64
    dropout: Fraction = 0.0
    targets: Annotated[tuple[str, ...], Field(min_length=1)] = (
        "q_proj",
        "k_proj",
        "v_proj",
        "o_proj",
        "gate_proj",
        "up_proj",
        "down_proj",
    )


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is asked."""

    __pydantic_config__ = _STRICT
    template: str = "r4p_group"
    """A name in model/prompts, or the path of a file."""
    max_tokens: Count = 8192
    """Longer prompts are left out, counted, never clipped."""


@dataclass(frozen=True, slots=True)
class Rollout:
    """How replies are drawn, in rounds: all of a round's replies come from one state of the model."""

    __pydantic_config__ = _STRICT
    prompts: Count = 128
    """Per round; a smaller last round is said."""
    replies: Annotated[int, Field(ge=2)] = 16
    """Per prompt: a group."""
    max_tokens: Count = 4096
    passes: Count = 1
    """How often a round is gone through."""
    temperature: Positive = 1.0
    top_p: Share = 1.0
    engine: Engine = Engine.TRANSFORMERS
    url: str = ""
    """Of the server, as in `http://127.0.0.1:8000/v1`; can be given on the command line."""
    api_key_file: str = ""
    """Holds its API key alone; a plan is kept beside its run, and tells where a key is, never which."""
    gpu_memory: Part = 0.5
    """Share of a GPU that a colocated vLLM may take while it writes; asleep it keeps little of it."""
    task: Task = Task.JUDGE
    max_turns: Count = 1
    """Of an agent."""
    turn_tokens: Count = 4096
    """The longest reply of an agent's turn; `max_tokens` is then what all turns and answers of tools may take."""


@dataclass(frozen=True, slots=True)
class Policy:
    """The policy gradient's loss."""

    __pydantic_config__ = _STRICT
    advantage: Advantage = Advantage.GRPO
    loss: Loss = Loss.TOKEN_MEAN
    clip_low: Fraction = 0.2
    clip_high: NotNegative = 0.28
    ratio_ceiling: Positive | None = 10.0
    """Highest ratio that counts where the advantage is negative (dual clip); above `1 + clip_high`."""
    kl: NotNegative = 0.0
    entropy_bonus: NotNegative = 0.0
    importance: Importance = Importance.OFF
    importance_ceiling: Annotated[float, Field(ge=1)] | None = None
    overlong: Overlong = Overlong.KEEP
    drop_uniform_groups: bool = False
    """Leave groups of equal rewards out, and draw others in their place."""


@dataclass(frozen=True, slots=True)
class Supervised:
    """What is learnt from given replies."""

    __pydantic_config__ = _STRICT
    task: Literal["boxed", "yes-no"] = "boxed"
    """`boxed`: the answer to a group, as a warm-up; `yes-no`: one patch at a time (R2E-Gym)."""
    max_tokens: Count = 32768
    """Of prompt and reply together; longer ones are left out, counted."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """What is learnt from pairs."""

    __pydantic_config__ = _STRICT
    beta: Positive = 0.1
    """How far DPO may move from where it began; the smaller, the further."""
    flip_rate: Annotated[float, Field(ge=0, lt=0.5)] = 0.0
    """Share of pairs believed to be the wrong way round."""
    margin: bool = False
    """Let a reward model's scores lie as far apart as the pairs' targets do."""
    max_tokens: Count = 8192


@dataclass(frozen=True, slots=True)
class Reward:
    """Who judges an agent's patches: the bot's own verifier, through an engine of its own."""

    __pydantic_config__ = _STRICT
    url: str = ""
    """Of an OpenAI-compatible server, as in `http://127.0.0.1:8001/v1`."""
    api_key_file: str = ""
    """Holds its API key alone."""
    model: str = ""
    """The server's name for it; "" takes the only one."""
    verifier: str = "r4p"
    votes: Count = 5


@dataclass(frozen=True, slots=True)
class Optimiser:
    """AdamW, and how much it is shown."""

    __pydantic_config__ = _STRICT
    learning_rate: Positive = 1e-6
    schedule: Literal["constant", "linear", "cosine"] = "constant"
    warmup_steps: Annotated[int, Field(ge=0)] = 0
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.0
    max_gradient_norm: Positive = 1.0
    epochs: Count = 1
    max_steps: Count | None = None
    """Where to stop before the epochs are over."""
    batch: Count = 128
    """Prompts (GRPO), examples or pairs of one optimiser step, over all processes."""
    micro_batch: Count = 1
    """Sequences that one process takes through the model at once."""


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """What a run can go on from."""

    __pydantic_config__ = _STRICT
    every_steps: Count = 10
    keep: Count = 2


@dataclass(frozen=True, slots=True)
class Scale:
    """The machines a plan was made for."""

    __pydantic_config__ = _STRICT
    nodes: Count = 1
    processes: Count = 1
    """GPUs, or processes where there are none, of one node."""
    sequence_parallel: Count = 1
    rollout_tensor_parallel: Count = 1


@dataclass(frozen=True, slots=True)
class TrainPlan:
    """A whole plan."""

    __pydantic_config__ = _STRICT
    name: str
    trainer: Trainer
    model: Model
    about: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """As NumPy takes it."""
    adapter: Lora | None = None
    """None: all weights are trained."""
    prompt: Prompt = field(default_factory=Prompt)
    rollout: Rollout = field(default_factory=Rollout)
    policy: Policy = field(default_factory=Policy)
    supervised: Supervised = field(default_factory=Supervised)
    pairs: Pairs = field(default_factory=Pairs)
    reward: Reward = field(default_factory=Reward)
    optimiser: Optimiser = field(default_factory=Optimiser)
    checkpoints: Checkpoints = field(default_factory=Checkpoints)
    scale: Scale = field(default_factory=Scale)
