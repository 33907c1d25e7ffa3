"""Encode conversations as token ids with a mask of the model's own tokens.

Tools are described and called in words (`model.agents.mini_se.tool_text`), so every chat template can render
them. Sampled replies keep their ids, because encoding their text again may give other tokens. They also keep their
thoughts, which some templates (Qwen3's) drop from earlier turns: the context of a later reply is what was sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from model.agents.mini_se import tool_text
from model.agents.trajectories.trajectory import Trajectory, build_conversation
from model.protocols import Message, Request, Tool
from training.rollouts.tokenization import IGNORED, render_prompt, tokenize_reply, tokenize_text

_PLACEHOLDER = "-"
"""Stands for a sampled reply in the template, which then cannot change it."""


@dataclass(frozen=True, slots=True)
class SampledReply:
    """A reply as the engine sampled it."""

    ids: Sequence[int]
    """Token ids, the token that ends the reply included where it ended."""
    log_probabilities: Sequence[float | None] | None = None
    """Natural log-probability of each id when it was sampled; None: the engine did not report it."""

    def truncate(self, tokens: int) -> "SampledReply":
        """Return the first `tokens` tokens of the reply."""
        logs = self.log_probabilities
        return SampledReply(self.ids[:tokens], None if logs is None else logs[:tokens])


class BadChatTemplate(ValueError):
    """A chat template that changes earlier turns, so that the encoded text differs from the sampled one."""


@dataclass(slots=True)
class EncodedChat:
    """Token ids of a conversation, split at the end of the first prompt."""

    prompt: list[int]
    completion: list[int] = field(default_factory=list)
    own_mask: list[int] = field(default_factory=list)
    """One number for each token of `completion`: 1 if the model wrote it, 0 if not."""
    log_probabilities: list[float | None] | None = field(default_factory=list)
    """One for each token of `completion`, 0 if the model did not write it. None: not known of every reply."""

    def add_reply(self, reply: SampledReply) -> None:
        """Append a reply of the model to `completion`."""
        self.completion += reply.ids
        self.own_mask += [1] * len(reply.ids)
        is_reported = None not in (self.log_probabilities, reply.log_probabilities)
        self.log_probabilities = (
            [*(self.log_probabilities or ()), *(reply.log_probabilities or ())]
            if is_reported
            else None
        )

    def build_labelled_row(self) -> dict[str, list[int]]:
        """Return `input_ids` and `labels` of prompt and completion. Only the model's own tokens have labels."""
        own = zip(self.completion, self.own_mask, strict=True)
        labels = [IGNORED] * len(self.prompt) + [
            token if is_own else IGNORED for token, is_own in own
        ]
        return {"input_ids": self.prompt + self.completion, "labels": labels}

    def add_inserted(self, ids: Sequence[int]) -> None:
        """Append tokens that the model did not write to `completion`."""
        self.completion += ids
        self.own_mask += [0] * len(ids)
        if self.log_probabilities is not None:
            self.log_probabilities += [0.0] * len(ids)


def encode_attempt(
    tokenizer: Any, attempt: Trajectory, sampled: Sequence[SampledReply] = ()
) -> EncodedChat:
    """Encode a recorded attempt up to the model's last reply. Raises BadChatTemplate.

    `sampled` holds the first replies as sampled; the other replies are tokenized again. Untrusted text stands as it was
    recorded: without the special tokens of the engine that served the attempt.
    """
    messages = flatten_tool_turns(build_conversation(attempt.opening, attempt.steps), attempt.tools)
    replies = [length for length, message in enumerate(messages, 1) if message.role == "assistant"]
    return encode_chat(tokenizer, messages[: replies[-1]] if replies else messages, sampled)


def flatten_tool_turns(messages: Sequence[Message], tools: tuple[Tool, ...]) -> tuple[Message, ...]:
    """Return a conversation with its tools described in words, and tool calls and results written as plain messages."""
    if not tools:
        return tuple(messages)
    request = Request(tuple(messages), max_tokens=0, temperature=0.0, seed=0, tools=tools)
    return tool_text.rewrite_request(request).messages


def encode_chat(
    tokenizer: Any, messages: Sequence[Message], sampled: Sequence[SampledReply] = ()
) -> EncodedChat:
    """Encode a conversation of plain messages as token ids. Raises BadChatTemplate.

    `sampled` holds the first replies as sampled, with EOS where a reply ended; the other replies are tokenized again.
    The result ends with the last reply, or with the prompt if there is none.
    """
    replies = [index for index, message in enumerate(messages) if message.role == "assistant"]
    shown = list(messages)
    # The template only has to tell what stands between the replies. Their own ids are known.
    for index in replies[: len(sampled)]:
        shown[index] = replace(shown[index], content=_PLACEHOLDER)
    before = render_prompt(tokenizer, shown[: replies[0] if replies else len(shown)])
    chat = EncodedChat(tokenize_text(tokenizer, before))
    for number, (index, following) in enumerate(pairwise([*replies, len(shown)])):
        reply = shown[index].content
        was_sampled = number < len(sampled)
        chat.add_reply(
            sampled[number] if was_sampled else SampledReply(tokenize_reply(tokenizer, reply))
        )
        if following - index > 1:
            rendered = render_prompt(tokenizer, shown[:following])
            inserted = _extract_inserted(tokenizer, rendered, before + reply)
            chat.add_inserted(tokenize_text(tokenizer, inserted))
            before = rendered
    return chat


def _extract_inserted(tokenizer: Any, rendered: str, prefix: str) -> str:
    """Return the text that the template inserts between a reply (EOS excluded) and the next reply."""
    if not rendered.startswith(prefix):
        raise BadChatTemplate(
            "the chat template changes earlier turns of a conversation, so no conversation can be learnt with it; "
            "use a base whose template keeps them"
        )
    return rendered[len(prefix) :].removeprefix(tokenizer.eos_token)
