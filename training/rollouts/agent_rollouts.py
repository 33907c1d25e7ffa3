"""Mini-SE's episodes as rollouts: the agent works on a tree by the model that is trained, the verifier judges its patches.

Siblings, the episodes of one issue, are judged against each other, seated anew for every vote. Only what the model wrote is
learnt; what tools said is seen and masked (`env_mask`). A verifier that fails or can't be read leaves a reward unknown.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from model.agents import attempt_setup
from model.agents.mini_se.mini_se import SPARE_TOKENS, MiniSE
from model.agents.tools.toolbox import TOOLS
from model.agents.trajectories.trajectory import Attempt, Limits, Stop
from model.domain import Issue, Patch, PatchId
from model.errors import EngineError
from model.prompts import prompt_template
from model.prompts.untrusted import safe_issue
from model.protocols import Verifier
from training.datasets.agent_tasks import AgentTask
from training.objective import episode_rewards
from training.objective.episode_rewards import Worth
from training.plans.plan import Overlong, TrainPlan
from training.rollouts import batched_generation, chat_encoding, tokenization
from training.rollouts.batched_generation import Line, Voice
from training.rollouts.chat_encoding import Turns
from training.rollouts.group_rollouts import Row, whole_groups

_PATIENCE_SECONDS = 86_400.0
"""For one episode: a trainer's rounds are as slow as the machine, which says nothing of the agent."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One attempt, as it is learnt from."""

    attempt: Attempt
    turns: Turns


@dataclass(slots=True)
class Episodes:
    """Issues with trees, each resolved several times by the model that is trained."""

    plan: TrainPlan
    tasks: dict[str, AgentTask]
    """By their prompt."""
    verifier: Verifier
    tokenizer: Any
    rows: list[Row]
    left_out: Counter[str] = field(default_factory=Counter)
    _seed: int = 0

    def rollout(self, asked: list[str], trainer: Any) -> dict[str, list[Any] | None]:
        """TRL's rollout function: one episode for each prompt asked."""
        whole_groups(asked, self.plan.rollout.replies)
        with self._desks(asked) as desk_of:
            played = batched_generation.all_of(
                self._voice(trainer),
                [partial(self._play, text, desk_of[text], at) for at, text in enumerate(asked)],
            )
        self._seed += len(asked)
        worths = self._worths(asked, [one.attempt for one in played])
        return {
            "prompt_ids": [one.turns.prompt for one in played],
            "completion_ids": [one.turns.rest for one in played],
            "logprobs": None,  # as TRL has it for its own model
            "env_mask": [
                one.turns.own if worth.teaches else [0] * len(one.turns.own)
                for one, worth in zip(played, worths, strict=True)
            ],
            "earned": [one.reward for one in worths],
            "stop": [one.attempt.stop.value for one in played],
        }

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """What the rollout found each episode to be worth; a patch that was handed in is a readable answer."""
        del completions
        for one in columns["stop"]:
            columns["log_metric"]("format_valid", float(one == Stop.SUBMITTED.value))
        earned: list[float | None] = columns["earned"]
        return earned

    @contextmanager
    def _desks(self, asked: Sequence[str]) -> Iterator[dict[str, Any]]:
        """How to get a desk on each task's tree; the code graph is made once for all its episodes."""
        with TemporaryDirectory(prefix="r4p-episodes-") as scratch, ExitStack() as stack:
            yield {
                text: stack.enter_context(
                    attempt_setup.opened(self.tasks[text].tree, Path(scratch) / f"{at}.sqlite")
                )
                for at, text in enumerate(dict.fromkeys(asked))
            }

    def _play(self, text: str, desk_of: Any, at: int, line: Line) -> Episode:
        agent = MiniSE(line, limits=limits(self.plan))
        with desk_of() as desk:
            attempt = agent.propose(self.tasks[text].text, desk, seed=self._seed + at)
        said = chat_encoding.of_attempt(self.tokenizer, attempt.trajectory, line.sampled)
        return Episode(attempt, said)

    def _voice(self, trainer: Any) -> Voice:
        def anybody(here: bool) -> bool:
            mine = torch.tensor([int(here)], device=trainer.accelerator.device)
            return bool(trainer.accelerator.gather(mine).sum())

        return Voice(
            self.tokenizer,
            context(self.plan),
            partial(sampled, trainer, self.plan.rollout.turn_tokens),
            anybody,
        )

    def _worths(self, asked: Sequence[str], attempts: Sequence[Attempt]) -> list[Worth]:
        size, found = self.plan.rollout.replies, []
        for at in range(0, len(asked), size):
            issue, siblings = self.tasks[asked[at]].text, attempts[at : at + size]
            found += judged(
                self.verifier, issue, siblings, self.plan.reward.votes, self.plan.policy.overlong
            )
        return found


def judged(
    verifier: Verifier, issue: Issue, siblings: Sequence[Attempt], votes: int, overlong: Overlong
) -> list[Worth]:
    """What each of an issue's episodes is worth, in their order: their patches are judged against each other."""
    patches = [
        Patch(PatchId(f"{at}"), one.patch)
        for at, one in enumerate(siblings)
        if one.patch is not None
    ]
    beliefs: dict[str, float | None] = {}
    if patches:
        try:
            verdict = verifier.verify(issue, patches, votes=votes)
            beliefs = {one.id: one.score for one in verdict.patches}
        except EngineError:
            beliefs = {}
    return [
        episode_rewards.worth(one.stop, beliefs.get(f"{at}"), overlong)
        for at, one in enumerate(siblings)
    ]


def opening(tokenizer: Any, issue: Issue) -> str:
    """The prompt of an episode, as the agent will ask it of a model without tools."""
    shown = prompt_template.load("mini_se").render(issue=safe_issue(issue.text).text, hint="")
    return tokenization.prompt_text(tokenizer, chat_encoding.plain(shown, TOOLS))


def context(plan: TrainPlan) -> int:
    """Tokens that an episode may take, prompt and all; what the agent keeps spare comes on top."""
    return plan.prompt.max_tokens + plan.rollout.max_tokens


def limits(plan: TrainPlan) -> Limits:
    """The agent's, by the plan."""
    return Limits(
        rounds=plan.rollout.max_turns,
        tokens=context(plan) - SPARE_TOKENS,
        reply_tokens=plan.rollout.turn_tokens,
        seconds=_PATIENCE_SECONDS,
        temperature=plan.rollout.temperature,
    )


def sampled(trainer: Any, most: int, ids: list[list[int]]) -> list[list[int]]:
    """One turn of several conversations by the trainer's model, or by the vLLM beside it."""
    told = trainer.vllm_generation if trainer.use_vllm else trainer.generation_config
    name = "max_completion_length" if trainer.use_vllm else "max_new_tokens"
    before = getattr(told, name)
    setattr(told, name, most)
    try:
        replies, _ = trainer.sampled(ids, each=1)
    finally:
        setattr(told, name, before)
    return [list(one) for one in replies]
