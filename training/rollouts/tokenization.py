"""Convert prompts and replies into token ids with the model's chat template."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.prompts.special_tokens import SpecialTokens, read_special_tokens
from model.protocols import Message
from training.datasets.supervised_examples import SupervisedExample

TOO_LONG = "longer than the plan's longest"
IGNORED = -100
"""PyTorch's label for tokens without a loss."""


@dataclass(slots=True)
class TokenizedRows:
    """Tokenized examples for a trainer, and counts of examples left out."""

    rows: list[dict[str, list[int]]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class TokenizerReader:
    """A tokenizer with the longest example of a plan, as the `PromptReader` of a training's prompts."""

    tokenizer: Any
    context_tokens: int
    special_tokens: SpecialTokens

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in `text`, without special ones, as engines count."""
        return len(tokenize_text(self.tokenizer, text))


def build_reader(tokenizer: Any, max_tokens: int) -> TokenizerReader:
    """Return the reader of prompts for examples of at most `max_tokens` tokens."""
    return TokenizerReader(tokenizer, max_tokens, read_special_tokens(tokenizer))


def tokenize_prompt(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """Return the token ids of a prompt in the chat template, up to the start of the reply."""
    return tokenize_text(tokenizer, render_prompt(tokenizer, messages))


def render_prompt(tokenizer: Any, messages: Sequence[Message]) -> str:
    """Return a prompt as text with the chat template's markers, up to the start of the reply."""
    turns = [{"role": message.role, "content": message.content} for message in messages]
    text: str = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    return text


def tokenize_reply(tokenizer: Any, reply: str) -> list[int]:
    """Return the token ids of a reply's text, followed by EOS."""
    return [*tokenize_text(tokenizer, reply), int(tokenizer.eos_token_id)]


def tokenize_examples(
    tokenizer: Any, examples: Iterable[SupervisedExample], max_tokens: int
) -> TokenizedRows:
    """Tokenize supervised examples into rows of `input_ids` and `labels`. Only reply tokens have labels.

    Examples of more than `max_tokens` are left out, not cut.
    """
    tokenized = TokenizedRows()
    for example in examples:
        prompt, reply = (
            tokenize_prompt(tokenizer, example.messages),
            tokenize_reply(tokenizer, example.reply),
        )
        if len(prompt) + len(reply) > max_tokens:
            tokenized.left_out[TOO_LONG] += 1
        else:
            labels = [IGNORED] * len(prompt) + reply
            tokenized.rows.append({"input_ids": prompt + reply, "labels": labels})
    return tokenized


def tokenize_text(tokenizer: Any, text: str) -> list[int]:
    """Return the token ids of a text that already contains the chat template's markers."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
