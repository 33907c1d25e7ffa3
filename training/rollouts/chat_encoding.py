"""Encode conversations as token ids with a mask of the model's own tokens.

Tools are described and called in words (`model.agents.mini_se.tool_text`), so every chat template can render
them. Sampled replies keep their ids, because encoding their text again may give other tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from model.agents.mini_se import tool_text
from model.agents.trajectories.trajectory import Trajectory, build_conversation
from model.protocols import Message, Request, Tool
from training.rollouts.tokenization import render_prompt, tokenize_reply, tokenize_text

SampledIds = Sequence[Sequence[int]]
"""Ids of the first replies, in order, the token that ends them included where they ended."""


class BadChatTemplate(ValueError):
    """A chat template that changes earlier turns, so that the encoded text differs from the sampled one."""


@dataclass(slots=True)
class EncodedChat:
    """Token ids of a conversation, split at the end of the first prompt."""

    prompt: list[int]
    completion: list[int] = field(default_factory=list)
    own_mask: list[int] = field(default_factory=list)
    """One number for each token of `completion`: 1 if the model wrote it, 0 if not."""

    def add(self, ids: Sequence[int], *, is_own: bool) -> None:
        """Append the token ids of the next message to `completion`. `is_own`: the model wrote them."""
        self.completion += ids
        self.own_mask += [int(is_own)] * len(ids)


def encode_attempt(tokenizer: Any, attempt: Trajectory, sampled: SampledIds = ()) -> EncodedChat:
    """Encode a recorded attempt up to the model's last reply. Raises BadChatTemplate.

    `sampled` holds the token ids of the first replies; the other replies are tokenized again. Untrusted text stands as
    it was recorded: without the special tokens of the engine that served the attempt.
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
    tokenizer: Any, messages: Sequence[Message], sampled: SampledIds = ()
) -> EncodedChat:
    """Encode a conversation of plain messages as token ids. Raises BadChatTemplate.

    `sampled` holds the ids of the first replies, with EOS where a reply ended; the other replies are tokenized again.
    The result ends with the last reply, or with the prompt if there is none.
    """
    replies = [index for index, message in enumerate(messages) if message.role == "assistant"]
    before = render_prompt(tokenizer, messages[: replies[0] if replies else len(messages)])
    chat = EncodedChat(tokenize_text(tokenizer, before))
    for number, (index, following) in enumerate(pairwise([*replies, len(messages)])):
        reply = messages[index].content
        ids = sampled[number] if number < len(sampled) else tokenize_reply(tokenizer, reply)
        chat.add(ids, is_own=True)
        if following - index > 1:
            rendered = render_prompt(tokenizer, messages[:following])
            inserted = _extract_inserted(tokenizer, rendered, before + reply)
            chat.add(tokenize_text(tokenizer, inserted), is_own=False)
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
