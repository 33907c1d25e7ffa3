"""Train an agent with GRPO: the plan `mini-se-rl` (R4P, section 4 and appendix B.2). Loads TRL."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accelerate import PartialState

from model import catalog
from model.commands import key_file
from model.protocols import Verifier
from training.datasets import schedule
from training.datasets.agent_tasks import AgentTask
from training.datasets.schedule import RoundSchedule
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization
from training.rollouts.agent_rollouts import AgentRollouts, render_opening
from training.trl import grpo, grpo_config, model_loading
from training.trl.training_arguments import build_common_arguments


def build_trainer(
    plan: TrainPlan, tasks: Sequence[AgentTask], folder: Path, verifier: Verifier | None = None
) -> grpo.GroupGRPOTrainer:
    """Build the GRPO trainer of an agent, with checkpoints in `folder`. Raises BadPlan if nothing is left to learn.

    `verifier` judges the patches. None: the verifier of the plan's `[reward]`.
    """
    settings = build_common_arguments(
        plan, folder, sequences_per_example=plan.rollout.replies
    ) | grpo_config.build_grpo_settings(plan, PartialState().num_processes)
    tokenizer = model_loading.load_tokenizer(plan)
    by_prompt, left_out = _filter_askable(plan, tasks, tokenizer)
    rounds = _schedule_rounds(plan, by_prompt, left_out)
    texts = {task.issue: text for text, task in by_prompt.items()}
    # Every row stands for `rollout.replies` episodes; TRL repeats the prompt itself.
    rows = [{"prompt": texts[task.issue]} for task in rounds.groups]
    source = AgentRollouts(
        plan, by_prompt, verifier or build_verifier(plan), tokenizer, rows, left_out
    )
    settings["max_steps"] = rounds.steps
    trainer = grpo.build_trainer_on_source(plan, source, tokenizer, settings)
    trainer.filled = rounds.filled
    return trainer


def _filter_askable(
    plan: TrainPlan, tasks: Sequence[AgentTask], tokenizer: Any
) -> tuple[dict[str, AgentTask], Counter[str]]:
    """Return the tasks by prompt text, and counts of the others by reason."""
    by_prompt: dict[str, AgentTask] = {}
    left_out: Counter[str] = Counter()
    for task in tasks:
        text = render_opening(tokenizer, task.statement)
        if len(tokenization.tokenize_text(tokenizer, text)) > plan.prompt.max_tokens:
            left_out[f"a prompt of more than {plan.prompt.max_tokens} tokens"] += 1
        # TRL looks a task up by its prompt text, so two tasks with equal prompts cannot both be asked.
        elif text in by_prompt:
            left_out["the same text as another issue"] += 1
        else:
            by_prompt[text] = task
    return by_prompt, left_out


def _schedule_rounds(
    plan: TrainPlan, by_prompt: Mapping[str, AgentTask], left_out: Counter[str]
) -> RoundSchedule:
    if not by_prompt:
        raise BadPlan(f"no task can be used: {dict(left_out) or 'the file has none'}")
    return schedule.schedule_rounds([task.group for task in by_prompt.values()], plan)


def build_verifier(plan: TrainPlan) -> Verifier:
    """Build the verifier that rewards an agent's patches, from the plan's section `[reward]`.

    Raises BadPlan without `reward.url`, TemplateError for `reward.prompt`, and EngineDown if that server does not answer.
    """
    settings = plan.reward
    if not settings.url:
        raise BadPlan(
            "reward.url is empty: name the server of the verifier that judges the patches"
        )
    key = key_file.read_key(Path(settings.api_key_file)) if settings.api_key_file else None
    choice = catalog.EngineChoice("openai_compatible", settings.model or None, settings.url, key)
    return catalog.load_verifier(
        settings.verifier,
        catalog.load_engine(choice),
        prompt=settings.prompt or None,
        reply_tokens=settings.reply_tokens,
    )
