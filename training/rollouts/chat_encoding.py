"""A conversation as token ids, told apart by who wrote them: only the model's own words are ever learnt.

Tools are described and called in words (`model.agents.mini_se.tool_text`), so that any chat template renders them. Replies that
were just sampled keep their own ids: text that is read again may be cut into other tokens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from model.agents.mini_se import tool_text
from model.agents.trajectories.trajectory import Trajectory, conversation
from model.protocols import Message, Request, Tool
from training.rollouts.tokenization import prompt_text, reply_ids, text_ids

Sampled = Sequence[Sequence[int]]
"""Ids of the first replies, in order, the token that ends them included where they ended."""


class BadTemplate(ValueError):
    """A chat template that changes earlier turns: what was sampled is not what would be learnt."""


@dataclass(slots=True)
class Turns:
    """A conversation from the first prompt on."""

    prompt: list[int]
    rest: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    """For each of `rest` 1 where the model wrote it, 0 where it was told it."""

    def add(self, ids: Sequence[int], *, own: bool) -> None:
        """What was said next."""
        self.rest += ids
        self.own += [int(own)] * len(ids)


def of_attempt(tokenizer: Any, attempt: Trajectory, sampled: Sampled = ()) -> Turns:
    """A recorded attempt, up to the model's last reply. Raises BadTemplate."""
    said = plain(conversation(attempt.opening, attempt.steps), attempt.tools)
    replies = [at for at, one in enumerate(said, 1) if one.role == "assistant"]
    return encoded(tokenizer, said[: replies[-1]] if replies else said, sampled)


def plain(messages: Sequence[Message], tools: tuple[Tool, ...]) -> tuple[Message, ...]:
    """The same conversation without a tool's turns, for a template that knows none."""
    if not tools:
        return tuple(messages)
    asked = Request(tuple(messages), max_tokens=0, temperature=0.0, seed=0, tools=tools)
    return tool_text.in_words(asked).messages


def encoded(tokenizer: Any, messages: Sequence[Message], sampled: Sampled = ()) -> Turns:
    """Plain turns; ends with the model's reply, or with what it is to reply to. Raises BadTemplate."""
    replies = [at for at, one in enumerate(messages) if one.role == "assistant"]
    before = prompt_text(tokenizer, messages[: replies[0] if replies else len(messages)])
    found = Turns(text_ids(tokenizer, before))
    for number, (at, following) in enumerate(pairwise([*replies, len(messages)])):
        reply = messages[at].content
        ids = sampled[number] if number < len(sampled) else reply_ids(tokenizer, reply)
        found.add(ids, own=True)
        if following - at > 1:
            then = prompt_text(tokenizer, messages[:following])
            told = _told(tokenizer, then, before + reply)
            found.add(text_ids(tokenizer, told), own=False)
            before = then
    return found


def _told(tokenizer: Any, then: str, so_far: str) -> str:
    """What the template puts between one reply, whose end is the model's, and the next."""
    if not then.startswith(so_far):
        raise BadTemplate(
            "the chat template changes earlier turns of a conversation, so no conversation can be learnt with it; "
            "use a base whose template keeps them"
        )
    return then[len(so_far) :].removeprefix(tokenizer.eos_token)
