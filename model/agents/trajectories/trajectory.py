"""The record of what an agent saw, wrote and did, step by step (pure).

A conversation is linear: its opening, then each reply with its results. So the record is the prompt too.
`trajectory_json` stores it.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from model.agents.trajectories import guidance_leak
from model.agents.trajectories.guidance import Guidance, remove_hint
from model.domain import EngineInfo, Issue, Tokens
from model.protocols import Message, Tool


class StopReason(StrEnum):
    """Why an attempt ended."""

    SUBMITTED = "submitted"
    """The agent submitted its patch."""
    ROUNDS = "rounds"
    TOKENS = "tokens"
    """The context has no room for another reply."""
    MALFORMED = "malformed"
    """Too many unusable replies in a row; in a pipeline, a stage without a usable reply."""
    TIMEOUT = "timeout"
    ENGINE = "engine"
    """The engine failed; `failure` has its message."""
    NONE_KEPT = "none_kept"
    """There were patches, and the filter kept none."""


class AttemptEnded(Exception):
    """Raised to end an attempt. It carries the stop reason and, where there is one, the patch or the error message."""

    def __init__(
        self, stop: StopReason, *, patch: str | None = None, failure: str | None = None
    ) -> None:
        super().__init__(stop)
        self.stop, self.patch, self.failure = stop, patch, failure


@dataclass(frozen=True, slots=True)
class AttemptLimits:
    """The limits of one attempt, and its sampling temperature (three defaults are from R4P, appendix B.2)."""

    rounds: int = 50
    tokens: int = 28_000
    """Tokens of the whole conversation with its last reply."""
    reply_tokens: int = 4_096
    seconds: float = 1_800.0
    """Time limit of the attempt: no reply is awaited longer. A tool has its own limits and may exceed this."""
    temperature: float = 1.0
    answer_characters: int = 12_000
    """Longest result of a tool. The middle of a longer one is left out."""
    malformed: int = 5
    """Unusable replies in a row that end the attempt."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of an attempt: a reply of the model with the results of its tool calls."""

    reply: Message
    answers: tuple[Message, ...]
    """One message per tool call, in order; a single user message when the reply has no call."""
    tokens: Tokens
    seconds: float
    """Time from the attempt's start to the end of this step, rounded to milliseconds."""
    answer_tokens: int = 0
    """Tokens that the answers add to the conversation, as the engine counts."""
    token_ids: tuple[int, ...] = ()
    """The sampled token ids of the reply, when the engine reports them."""
    finished: bool = True
    """False: the token limit cut the reply."""
    malformed: bool = False
    """No call of the reply could run: no call, an unknown tool or invalid arguments."""
    prompt: tuple[Message, ...] = ()
    """The prompt of this reply in a pipeline; empty in a conversation."""
    stage: str = ""
    """The stage of a pipeline; "" in a conversation."""
    outcome: str = ""
    """What a pipeline read from the reply, as one JSON object; "" in a conversation."""


def build_conversation(opening: Iterable[Message], steps: Iterable[Step]) -> tuple[Message, ...]:
    """Return an attempt's opening messages, followed by the reply and the answers of each step, as one sequence."""
    return (*opening, *(message for step in steps for message in (step.reply, *step.answers)))


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The record of one attempt of an agent, from its first messages to its stop."""

    agent: str
    engine: EngineInfo
    issue: Issue
    tree: str
    """Digest of the source tree, by `compute_tree_digest`. A replay on another tree would be another attempt."""
    seed: int
    limits: AttemptLimits
    tools: tuple[Tool, ...]
    opening: tuple[Message, ...]
    opening_tokens: int
    """Tokens of the opening and the tools, as the engine counts."""
    steps: tuple[Step, ...]
    stop: StopReason
    patch: str | None = None
    """A unified diff; None without a patch."""
    failure: str | None = None
    """The engine's message when it failed or was late; a pipeline's reason when no file fits."""
    guidance: Guidance | None = None
    setting: str = ""
    """What a replay of a pipeline needs, as one JSON object; "" for a conversation."""

    @property
    def quotes_hint(self) -> bool:
        """Whether the model's replies or its patch repeat words that only the hint contained."""
        clean = self._strip_hint()
        left = self._find_private_runs(clean)
        for step in clean.steps:
            left = guidance_leak.drop_public_runs(left, _list_contents(step.prompt))
            if guidance_leak.drop_public_runs(left, _list_texts(step)) != left:
                return True
            left = guidance_leak.drop_public_runs(left, _list_contents(step.answers))
        return self.patch_quotes_hint

    @property
    def patch_quotes_hint(self) -> bool:
        """Whether the patch adds words of the hint that neither the issue nor the shown code contains."""
        clean = self._strip_hint()
        lines = (self.patch or "").split("\n")
        added = "\n".join(line for line in lines if line.startswith("+"))
        there = "\n".join(line for line in lines if not line.startswith("+"))
        prompts = [text for step in clean.steps for text in _list_contents(step.prompt)]
        left = guidance_leak.drop_public_runs(self._find_private_runs(clean), [there, *prompts])
        return guidance_leak.drop_public_runs(left, [added]) != left

    def remove_guidance(self) -> "Trajectory | None":
        """Return the record with the same replies and patch but without the hint; None when `quotes_hint` is true.

        Training pairs the result with an attempt that had no hint. A quoting attempt would teach the model to cite a
        text that it never saw. Evaluation uses only the patch of a guided attempt, and no patch with
        `patch_quotes_hint`.
        """
        return None if self.quotes_hint else self._strip_hint()

    def _find_private_runs(self, clean: "Trajectory") -> frozenset[str]:
        """Return the hint's word runs that neither the issue nor the opening contains."""
        runs = guidance_leak.find_word_runs(self.guidance) if self.guidance else frozenset()
        return guidance_leak.drop_public_runs(
            runs, [self.issue.text, *_list_contents(clean.opening)]
        )

    def _strip_hint(self) -> "Trajectory":
        return replace(
            self,
            guidance=None,
            opening=_strip_messages(self.opening),
            steps=tuple(replace(step, prompt=_strip_messages(step.prompt)) for step in self.steps),
        )


def find_patch_steps(trajectory: Trajectory) -> tuple[Step, ...]:
    """Return the steps that led to an attempt's patch: all of a conversation; a repair and its localisation of a pipeline.

    Without a patch, a pipeline has its first repair and the localisation of its files.
    """
    if not any(step.stage for step in trajectory.steps):
        return trajectory.steps
    steps = [step for step in trajectory.steps if step.reply.content and step.stage]
    repairs = [(step, json.loads(step.outcome)) for step in steps if step.stage == "repair"]
    wanted = [item for item in repairs if item[1].get("diff") == trajectory.patch]
    nothing: tuple[Step | None, dict[str, Any]] = (None, {})
    repair, outcome = next(iter(wanted or repairs), nothing)
    files = {*outcome.get("files", ()), *outcome.get("left_out", ())}
    locates = [step for step in steps if step.stage == "locate"]
    located = [step for step in locates if files == set(json.loads(step.outcome).get("paths", ()))]
    return tuple(step for step in (next(iter(located or locates), None), repair) if step)


def _list_contents(messages: Iterable[Message]) -> list[str]:
    return [message.content for message in messages]


def _list_texts(step: Step) -> list[str]:
    """Return all texts that the model wrote, with decoded call arguments."""
    return [
        step.reply.content,
        *(_decode_arguments(call.arguments) for call in step.reply.tool_calls),
    ]


def _decode_arguments(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments), ensure_ascii=False)
    except (ValueError, RecursionError):
        return arguments


def _strip_messages(messages: Iterable[Message]) -> tuple[Message, ...]:
    return tuple(replace(message, content=remove_hint(message.content)) for message in messages)


@dataclass(frozen=True, slots=True)
class Attempt:
    """The result of an agent: its trajectory and its duration in seconds."""

    trajectory: Trajectory
    seconds: float

    @property
    def patch(self) -> str | None:
        """The attempt's patch as a unified diff; None without a patch."""
        return self.trajectory.patch

    @property
    def stop(self) -> StopReason:
        """Why the attempt ended."""
        return self.trajectory.stop

    @property
    def rounds(self) -> int:
        """Number of the model's replies."""
        return len(self.trajectory.steps)

    @property
    def tokens(self) -> Tokens:
        """The attempt's prompt, cached and completion tokens, each summed over all steps."""
        paid = [step.tokens for step in self.trajectory.steps]
        return Tokens(
            sum(usage.prompt for usage in paid),
            sum(usage.cached for usage in paid),
            sum(usage.completion for usage in paid),
        )
