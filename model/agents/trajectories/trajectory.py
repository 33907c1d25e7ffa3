"""What an agent saw, said and did, step by step (pure).

A conversation is linear: its opening, then in each step what the model said and what it was told. So the record is
the prompt as well. How it is stored: `trajectory_json`; how it is carried out once more: `replay`.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from model.agents.trajectories import guidance_leak
from model.agents.trajectories.guidance import Guidance, without
from model.domain import EngineInfo, Issue, Tokens
from model.protocols import Message, Tool


class Stop(StrEnum):
    """Why an attempt ended."""

    SUBMITTED = "submitted"
    """The agent handed in its patch."""
    ROUNDS = "rounds"
    TOKENS = "tokens"
    """The conversation has no room for another reply."""
    MALFORMED = "malformed"
    """Too many replies in a row that ask for nothing that can be done; of a pipeline: no usable one in a stage."""
    TIMEOUT = "timeout"
    ENGINE = "engine"
    """The engine failed; `failure` says how."""
    NONE_KEPT = "none_kept"
    """There were patches, and a filter let none of them pass."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an attempt may cost (R4P, appendix B.2, for rounds, tokens and temperature)."""

    rounds: int = 50
    tokens: int = 28_000
    """Of the whole conversation, the last reply with it."""
    reply_tokens: int = 4_096
    seconds: float = 1_800.0
    """No reply is waited for any longer; a tool, which has limits of its own, may overrun it."""
    temperature: float = 1.0
    answer_characters: int = 12_000
    """The longest answer of a tool; of a longer one the middle is left out."""
    malformed: int = 5
    """Replies in a row that ask for nothing that can be done."""


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model, and what it was told."""

    reply: Message
    answers: tuple[Message, ...]
    """One for each tool call, in their order; or one from the user where the reply held none."""
    tokens: Tokens
    seconds: float
    """Since the attempt began, when the last answer was there; to the millisecond."""
    answer_tokens: int = 0
    """What the answers add to the conversation, as the engine counts."""
    token_ids: tuple[int, ...] = ()
    """The reply as it was sampled, where the engine tells."""
    finished: bool = True
    """False: the reply was cut at its limit."""
    malformed: bool = False
    """Nothing in the reply could be done: no call, an unknown tool, arguments that are not what the tool takes."""
    prompt: tuple[Message, ...] = ()
    """What the reply answers, where that is not the conversation so far."""
    stage: str = ""
    """Of a pipeline: which of its stages asked; "" in a conversation."""
    outcome: str = ""
    """What a pipeline made of the reply, as one JSON object; "" in a conversation."""


def conversation(opening: Iterable[Message], steps: Iterable[Step]) -> tuple[Message, ...]:
    """All that was said so far, in its order."""
    return (*opening, *(one for step in steps for one in (step.reply, *step.answers)))


@dataclass(frozen=True, slots=True)
class Trajectory:
    """One attempt from its opening to its stop."""

    agent: str
    engine: EngineInfo
    issue: Issue
    tree: str
    """Digest of the tree it was made on: replayed on another one it would be another attempt."""
    seed: int
    limits: Limits
    tools: tuple[Tool, ...]
    opening: tuple[Message, ...]
    opening_tokens: int
    """Of the opening and the tools, as the engine counts."""
    steps: tuple[Step, ...]
    stop: Stop
    patch: str | None = None
    """A unified diff; None when there is none."""
    failure: str | None = None
    """What the engine said, when it failed or was late; what a pipeline lacks, when it has no room."""
    guidance: Guidance | None = None
    setting: str = ""
    """Of a pipeline: what it takes to carry it out once more, as one JSON object; "" of a conversation."""

    @property
    def quotes_hint(self) -> bool:
        """Whether the model's own words, its patch with them, hold words of the hint that it had from nowhere else."""
        clean = self._with_clean_prompts()
        left = self._hint_beside(clean)
        for step in clean.steps:
            left = guidance_leak.unknown(left, _contents(step.prompt))
            if guidance_leak.unknown(left, _said(step)) != left:
                return True
            left = guidance_leak.unknown(left, _contents(step.answers))
        return self.patch_quotes_hint

    @property
    def patch_quotes_hint(self) -> bool:
        """Whether the patch adds words of the hint that neither the issue nor what the patch shows of the tree has."""
        clean = self._with_clean_prompts()
        lines = (self.patch or "").split("\n")
        added = "\n".join(line for line in lines if line.startswith("+"))
        there = "\n".join(line for line in lines if not line.startswith("+"))
        prompts = [text for step in clean.steps for text in _contents(step.prompt)]
        left = guidance_leak.unknown(self._hint_beside(clean), [there, *prompts])
        return guidance_leak.unknown(left, [added]) != left

    def without_guidance(self) -> "Trajectory | None":
        """The attempt as training pairs it with one that had no hint: the same replies to prompts without it.

        None where it `quotes_hint`: who learned from that would learn to cite what was never shown. Evaluation sees
        of a guided attempt its patch alone, and not even that where `patch_quotes_hint`.
        """
        return None if self.quotes_hint else self._with_clean_prompts()

    def _hint_beside(self, clean: "Trajectory") -> frozenset[str]:
        """What would give the hint away, once what everybody may know is taken off; nothing where there is no hint."""
        runs = guidance_leak.runs(self.guidance) if self.guidance else frozenset()
        return guidance_leak.unknown(runs, [self.issue.text, *_contents(clean.opening)])

    def _with_clean_prompts(self) -> "Trajectory":
        return replace(
            self,
            guidance=None,
            opening=_unguided(self.opening),
            steps=tuple(replace(step, prompt=_unguided(step.prompt)) for step in self.steps),
        )


def _contents(messages: Iterable[Message]) -> list[str]:
    return [message.content for message in messages]


def _said(step: Step) -> list[str]:
    """All that the model wrote, its calls as they are read."""
    return [step.reply.content, *(_read(call.arguments) for call in step.reply.tool_calls)]


def _read(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _unguided(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(replace(message, content=without(message.content)) for message in messages)


@dataclass(frozen=True, slots=True)
class Attempt:
    """What an agent hands back."""

    trajectory: Trajectory
    seconds: float

    @property
    def patch(self) -> str | None:
        """A unified diff; None when there is none."""
        return self.trajectory.patch

    @property
    def stop(self) -> Stop:
        """Why it ended."""
        return self.trajectory.stop

    @property
    def rounds(self) -> int:
        """How many replies the model gave."""
        return len(self.trajectory.steps)

    @property
    def tokens(self) -> Tokens:
        """What was paid for, over all steps."""
        paid = [step.tokens for step in self.trajectory.steps]
        return Tokens(
            sum(one.prompt for one in paid),
            sum(one.cached for one in paid),
            sum(one.completion for one in paid),
        )
