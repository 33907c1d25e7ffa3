"""From questions and replies to token ids, as the engines read them: the chat template, then the reply and its end."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.protocols import Message
from training.datasets.supervised_examples import Example

TOO_LONG = "longer than the plan's longest"
_IGNORED = -100
"""The label of a token that nothing is learnt from (PyTorch's own)."""


@dataclass(slots=True)
class Rows:
    """What a trainer is given, and why something is not."""

    rows: list[dict[str, list[int]]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)


def prompt_ids(tokenizer: Any, messages: Sequence[Message]) -> list[int]:
    """A question, up to where the reply begins."""
    return text_ids(tokenizer, prompt_text(tokenizer, messages))


def prompt_text(tokenizer: Any, messages: Sequence[Message]) -> str:
    """The same as text, with the chat template's marks."""
    turns = [{"role": one.role, "content": one.content} for one in messages]
    text: str = tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False)
    return text


def reply_ids(tokenizer: Any, reply: str) -> list[int]:
    """A reply with the token that ends it."""
    return [*text_ids(tokenizer, reply), int(tokenizer.eos_token_id)]


def supervised(tokenizer: Any, examples: Iterable[Example], max_tokens: int) -> Rows:
    """Rows of `input_ids` and `labels`, which are the reply's alone; nothing is clipped, long ones are left out."""
    found = Rows()
    for example in examples:
        asked, said = prompt_ids(tokenizer, example.messages), reply_ids(tokenizer, example.reply)
        if len(asked) + len(said) > max_tokens:
            found.left_out[TOO_LONG] += 1
        else:
            labels = [_IGNORED] * len(asked) + said
            found.rows.append({"input_ids": asked + said, "labels": labels})
    return found


def text_ids(tokenizer: Any, text: str) -> list[int]:
    """Token ids of a text that has its marks already."""
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
