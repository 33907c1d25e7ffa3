"""A reward model on this machine's CPU: a transformer with a head of one score, whole or as a LoRA adapter.

Loads torch, so `model.catalog` imports this module on demand. Shapes: T prompt tokens, H hidden width.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors import SafetensorError, safe_open

from model.errors import BadEngine, EngineDown, EngineError
from model.prompts.special_tokens import SpecialTokens, read_special_tokens
from model.protocols import Completion, Message, RawScore, Request

_ADAPTER = "adapter_config.json"
"""PEFT's file that names an adapter's base model."""
_HEAD = "score.weight"
"""End of the name of the head's weights, of shape (labels, H), in a model and in an adapter."""
_FIX = "`r4p train run reward-model` trains a reward model: name its RUN/adapter or RUN/model"
_FAILURES = (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError)
"""Errors of transformers, PEFT and safetensors for files that are missing or damaged."""


def load_merged(directory: Path) -> tuple[Any, Any]:
    """Load the reward model in `directory`, and return it with its tokenizer. An adapter is merged into its base.

    Raises BadEngine if the model cannot be loaded, has no head of scores, or a head of several labels, and EngineDown
    if an adapter's library is missing.
    """
    _require_one_label(directory)
    try:
        model, tokenizer = _load(directory)
    except ImportError as error:
        raise EngineDown(
            f"the adapter in {directory} needs {error.name}: pip install 'r4p-bot[train]', or merge it with `r4p train merge`"
        ) from error
    except _FAILURES as error:
        raise BadEngine(
            f"the reward model in {directory} can't be loaded: {error}; {_FIX}"
        ) from error
    if not tokenizer.chat_template:
        raise BadEngine(
            f"the tokenizer of {directory} has no chat template, which training used; restore it"
        )
    # transformers and vLLM look for the last token that is not padding
    model.config.pad_token_id = tokenizer.pad_token_id or tokenizer.eos_token_id
    return model.eval(), tokenizer


class LocalRewardModel:
    """Engine that scores prompts with the reward model in a directory, one prompt after the other."""

    name = "local_reward_model"
    """Another name than the embedded demonstration model has, whose verdicts carry a caution."""

    def __init__(self, directory: Path, *, model: str) -> None:
        """Load the reward model in `directory`. `model` is the name that the engine reports. Raises EngineDown."""
        self.model = model
        transformers.logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        self._weights, self._tokenizer = load_merged(directory)
        self._special_tokens = read_special_tokens(self._tokenizer)
        self.context_tokens: int = self._weights.config.max_position_embeddings

    @property
    def special_tokens(self) -> SpecialTokens:
        """The special tokens of the model's own tokenizer."""
        return self._special_tokens

    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens in `text`, by the model's own tokenizer."""
        return len(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def complete(self, requests: Sequence[Request]) -> list[Completion | EngineError]:
        """Raise EngineDown: a reward model scores patches and writes nothing."""
        del requests
        raise EngineDown(
            f"{self.model} is a reward model, which writes nothing; judge with the verifier reward-model, or name another model"
        )

    def score(self, prompts: Sequence[tuple[Message, ...]]) -> list[RawScore | EngineError]:
        """Return one score or error per prompt, in order. A prompt longer than the context gets an error."""
        return [self._score(self.encode(prompt)) for prompt in prompts]

    def encode(self, prompt: tuple[Message, ...]) -> list[int]:
        """Return the token ids of a prompt, up to the start of a reply, as the training encodes it."""
        turns = [{"role": message.role, "content": message.content} for message in prompt]
        text = self._tokenizer.apply_chat_template(
            turns, add_generation_prompt=True, tokenize=False
        )
        # The template has written the special tokens; a second set would change the prompt.
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def close(self) -> None:
        """Free the model's weights."""
        self._weights = self._tokenizer = None

    def _score(self, ids: list[int]) -> RawScore | EngineError:
        if len(ids) > self.context_tokens:
            return EngineError(
                f"prompt of {len(ids)} tokens exceeds the context of {self.context_tokens}"
            )
        with torch.inference_mode():
            # (1, T) -> (1, T, H). One prompt a pass: no padding can move the position that the head reads.
            hidden = self._weights.base_model(input_ids=torch.tensor([ids])).last_hidden_state
            # (H) x (1, H) -> (1) in 32 bits, as vLLM does: bfloat16 would make close scores equal
            value = hidden[0, -1].float() @ self._weights.score.weight.float().T
        return RawScore(float(value), len(ids))


def _load(directory: Path) -> tuple[Any, Any]:
    """Load the model in `directory`, or the base of its adapter with the adapter, and the tokenizer."""
    config = directory / _ADAPTER
    adapted = config.exists()
    source = json.loads(config.read_text())["base_model_name_or_path"] if adapted else directory
    verbosity = transformers.logging.get_verbosity()
    # transformers warns of a base without a head, and its advice would mislead: the adapter brings the head.
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    model: Any = transformers.AutoModelForSequenceClassification.from_pretrained(
        # A base model has no head, and transformers would add one of two labels.
        source,
        num_labels=1,
        dtype="auto",
    )
    transformers.logging.set_verbosity(verbosity)
    if adapted:
        from peft import PeftModel  # noqa: PLC0415 - an adapter only; the extra `local` has no peft

        # The adapter holds the trained head, which replaces the random one.
        model = PeftModel.from_pretrained(model, str(directory)).merge_and_unload()
    return model, transformers.AutoTokenizer.from_pretrained(source)


def _require_one_label(directory: Path) -> None:
    """Raise BadEngine if the model or adapter in `directory` has no head of scores, or one of several labels."""
    try:
        labels = _count_labels(directory)
    except _FAILURES as error:
        raise BadEngine(f"{directory} holds no readable model ({error}); {_FIX}") from error
    if labels == 0:
        raise BadEngine(
            f"the model in {directory} has no trained head that scores a prompt; {_FIX}"
        )
    if labels != 1:
        raise BadEngine(
            f"the head of the model in {directory} has {labels} labels, and a reward model has 1; {_FIX}"
        )


def _count_labels(directory: Path) -> int:
    """Return the number of labels of the trained head in `directory`; 0 without a head."""
    if not (directory / _ADAPTER).exists():
        config = transformers.AutoConfig.from_pretrained(directory)
        named = any(
            name.endswith("ForSequenceClassification") for name in config.architectures or ()
        )
        return int(config.num_labels) if named else 0
    with safe_open(directory / "adapter_model.safetensors", framework="pt") as weights:
        heads = [name for name in weights.keys() if name.endswith(_HEAD)]  # noqa: SIM118 - no mapping
        return int(weights.get_slice(heads[0]).get_shape()[0]) if heads else 0
