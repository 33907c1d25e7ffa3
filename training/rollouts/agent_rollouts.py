"""Run Mini-SE episodes as GRPO rollouts: the model in training resolves issues, a verifier scores the patches.

The episodes of one issue are judged against each other with new seats in every vote. `env_mask` masks tool
outputs, so only the model's own tokens get a loss. A verifier failure leaves the reward unknown.
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
from model.agents.mini_se.mini_se import MiniSE
from model.agents.tools.toolbox import TOOLS
from model.agents.trajectories.trajectory import Attempt, AttemptLimits, StopReason
from model.domain import Issue
from model.prompts import prompt_template
from model.prompts.special_tokens import read_special_tokens
from model.prompts.untrusted import escape_issue
from model.protocols import Verifier
from training.datasets.agent_tasks import AgentTask
from training.objective.episode_rewards import EpisodeReward
from training.plans.plan import TrainPlan
from training.rollouts import batched_generation, chat_encoding, episode_judgement, tokenization
from training.rollouts.batched_generation import BatchedEngine, SharedModel
from training.rollouts.chat_encoding import EncodedChat, SampledReply
from training.rollouts.group_rollouts import Row, check_whole_groups

_EPISODE_SECONDS = 86_400.0
"""Time limit of one episode. A slow trainer must not count as a slow agent."""


@dataclass(frozen=True, slots=True)
class AgentEpisode:
    """One attempt of the agent in training, with its token ids."""

    attempt: Attempt
    chat: EncodedChat


@dataclass(slots=True)
class AgentRollouts:
    """The tasks of a run as a source of prompts, episodes and rewards for TRL."""

    plan: TrainPlan
    tasks: dict[str, AgentTask]
    """Tasks by their prompt text."""
    verifier: Verifier
    tokenizer: Any
    rows: list[Row]
    left_out: Counter[str] = field(default_factory=Counter)
    """Counts of tasks that cannot be used, by reason."""
    _seed: int = 0

    def rollout(self, prompts: list[str], trainer: Any) -> dict[str, list[Any] | None]:
        """Play one episode for each prompt, and return the columns that TRL expects of its rollout function.

        `earned` holds the rewards and `stop` the stop reasons. `trainer` is TRL's trainer with the model in training.
        """
        check_whole_groups(prompts, self.plan.rollout.replies)
        with self._open_setups(prompts) as open_context:
            episodes = batched_generation.run_conversations(
                self._build_shared_model(trainer),
                [
                    partial(self._play_episode, text, open_context[text], number)
                    for number, text in enumerate(prompts)
                ],
            )
        self._seed += len(prompts)
        rewards = self._reward_episodes(prompts, [episode.attempt for episode in episodes])
        return {
            "prompt_ids": [episode.chat.prompt for episode in episodes],
            "completion_ids": [episode.chat.completion for episode in episodes],
            "logprobs": _collect_log_probabilities([episode.chat for episode in episodes]),
            "env_mask": [
                episode.chat.own_mask if reward.is_trained_on else [0] * len(episode.chat.own_mask)
                for episode, reward in zip(episodes, rewards, strict=True)
            ],
            "earned": [reward.reward for reward in rewards],
            "stop": [episode.attempt.stop.value for episode in episodes],
        }

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """Return the rewards that `rollout` computed, one per episode; None: unknown.

        `columns` holds what `rollout` returned. The method logs the share of submitted patches as TRL's metric
        `format_valid`.
        """
        del completions
        for stop in columns["stop"]:
            columns["log_metric"]("format_valid", float(stop == StopReason.SUBMITTED.value))
        earned: list[float | None] = columns["earned"]
        return earned

    @contextmanager
    def _open_setups(self, prompts: Sequence[str]) -> Iterator[dict[str, Any]]:
        """How to get a context on each task's tree; the code graph is made once for all its episodes."""
        with TemporaryDirectory(prefix="r4p-episodes-") as scratch, ExitStack() as stack:
            yield {
                text: stack.enter_context(
                    attempt_setup.open_tool_contexts(
                        self.tasks[text].tree, Path(scratch) / f"{number}.sqlite"
                    )
                )
                for number, text in enumerate(dict.fromkeys(prompts))
            }

    def _play_episode(
        self, text: str, open_context: Any, number: int, engine: BatchedEngine
    ) -> AgentEpisode:
        prompt_tokens = len(tokenization.tokenize_text(self.tokenizer, text))
        agent = MiniSE(engine, limits=build_limits(self.plan, prompt_tokens))
        with open_context() as context:
            attempt = agent.propose(self.tasks[text].statement, context, seed=self._seed + number)
        chat = chat_encoding.encode_attempt(self.tokenizer, attempt.trajectory, engine.replies)
        return AgentEpisode(attempt, chat)

    def _build_shared_model(self, trainer: Any) -> SharedModel:
        def anybody(here: bool) -> bool:
            mine = torch.tensor([int(here)], device=trainer.accelerator.device)
            return bool(trainer.accelerator.gather(mine).sum())

        return SharedModel(
            self.tokenizer,
            count_context_tokens(self.plan),
            partial(sample_replies, trainer, self.plan.rollout.turn_tokens),
            anybody,
        )

    def _reward_episodes(
        self, prompts: Sequence[str], attempts: Sequence[Attempt]
    ) -> list[EpisodeReward]:
        size, rewards = self.plan.rollout.replies, []
        for start in range(0, len(prompts), size):
            issue, siblings = self.tasks[prompts[start]].statement, attempts[start : start + size]
            rewards += episode_judgement.judge_episodes(
                self.verifier, issue, siblings, self.plan.reward, self.plan.policy.overlong
            )
        return rewards


def render_opening(tokenizer: Any, issue: Issue) -> str:
    """Return the first prompt of an agent's episode as text, with the tools described in words."""
    text = escape_issue(issue.text, read_special_tokens(tokenizer)).text
    shown = prompt_template.load("mini_se").render(issue=text, hint="")
    return tokenization.render_prompt(tokenizer, chat_encoding.flatten_tool_turns(shown, TOOLS))


def count_context_tokens(plan: TrainPlan) -> int:
    """Return the most tokens of an agent's episode under `plan`: first prompt plus everything after it."""
    return plan.prompt.max_tokens + plan.rollout.max_tokens


def build_limits(plan: TrainPlan, prompt_tokens: int) -> AttemptLimits:
    """Return the limits that `plan` sets for one attempt of the agent in training.

    A short first prompt does not lengthen the episode: turns and tool outputs together get `rollout.max_tokens` beside
    the `prompt_tokens` tokens of the first prompt.
    """
    return AttemptLimits(
        rounds=plan.rollout.max_turns,
        tokens=prompt_tokens + plan.rollout.max_tokens,
        reply_tokens=plan.rollout.turn_tokens,
        seconds=_EPISODE_SECONDS,
        temperature=plan.rollout.temperature,
    )


def _collect_log_probabilities(chats: Sequence[EncodedChat]) -> list[Any] | None:
    """Return the log-probabilities of each episode's tokens, or None if those of any episode are not known.

    TRL pads them to a tensor of shape (episodes, tokens). Only the trainer's own model reports none.
    """
    reported = [chat.log_probabilities for chat in chats if chat.log_probabilities is not None]
    return reported if len(reported) == len(chats) else None


def sample_replies(trainer: Any, max_tokens: int, prompts: list[list[int]]) -> list[SampledReply]:
    """Return the reply to each prompt, sampled from the trainer's model or its vLLM.

    The prompts are token ids. Each reply has at most `max_tokens` tokens. Only vLLM reports log-probabilities.
    """
    settings = trainer.vllm_generation if trainer.use_vllm else trainer.generation_config
    name = "max_completion_length" if trainer.use_vllm else "max_new_tokens"
    before = getattr(settings, name)
    setattr(settings, name, max_tokens)
    try:
        replies, log_probabilities = trainer.sample(prompts, copies=1)
    finally:
        setattr(settings, name, before)
    each = log_probabilities or [None] * len(replies)
    return [SampledReply(list(ids), logs) for ids, logs in zip(replies, each, strict=True)]
