"""GRPO on an agent's episodes: the plan `mini-se-rl` (R4P, section 4 and appendix B.2). Loads TRL."""

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
from training.datasets.schedule import Rounds
from training.plans.plan import BadPlan, TrainPlan
from training.rollouts import tokenization
from training.rollouts.agent_rollouts import Episodes, opening
from training.trl import grpo, grpo_config, model_loading
from training.trl.training_arguments import common


def trainer(
    plan: TrainPlan, tasks: Sequence[AgentTask], folder: Path, verifier: Verifier | None = None
) -> grpo.Trainer:
    """Ready to train; checkpoints go to `folder`. Raises BadPlan where nothing can be learnt by this plan.

    `verifier`: who judges the patches; None: the one that the plan's `[reward]` names.
    """
    settings = common(plan, folder, each=plan.rollout.replies) | grpo_config.policy(
        plan, PartialState().num_processes
    )
    tokenizer = model_loading.tokenizer(plan)
    known, left_out = _askable(plan, tasks, tokenizer)
    asked = _asked(plan, known, left_out)
    texts = {one.issue: text for text, one in known.items()}
    rows = [{"prompt": texts[one.issue]} for one in asked.groups]
    source = Episodes(plan, known, verifier or judge(plan), tokenizer, rows, left_out)
    settings["max_steps"] = asked.steps
    made = grpo.ready(plan, source, tokenizer, settings)
    made.filled = asked.filled
    return made


def _askable(
    plan: TrainPlan, tasks: Sequence[AgentTask], tokenizer: Any
) -> tuple[dict[str, AgentTask], Counter[str]]:
    """Tasks by their prompt, and why others are not asked about."""
    found: dict[str, AgentTask] = {}
    left_out: Counter[str] = Counter()
    for task in tasks:
        text = opening(tokenizer, task.text)
        if len(tokenization.text_ids(tokenizer, text)) > plan.prompt.max_tokens:
            left_out[f"a prompt of more than {plan.prompt.max_tokens} tokens"] += 1
        elif text in found:
            left_out["the same text as another issue's"] += 1
        else:
            found[text] = task
    return found, left_out


def _asked(plan: TrainPlan, known: Mapping[str, AgentTask], left_out: Counter[str]) -> Rounds:
    if not known:
        raise BadPlan(f"no task is left to be asked about: {dict(left_out) or 'there was none'}")
    return schedule.laid_out([one.group for one in known.values()], plan)


def judge(plan: TrainPlan) -> Verifier:
    """The verifier that the plan names. Raises BadPlan where none is, EngineDown where it doesn't answer."""
    told = plan.reward
    if not told.url:
        raise BadPlan(
            "reward.url is empty: name the server of the verifier that judges the patches"
        )
    key = key_file.read(Path(told.api_key_file)) if told.api_key_file else None
    choice = catalog.EngineChoice("openai_compatible", told.model or None, told.url, key)
    return catalog.verifier(told.verifier, catalog.engine(choice))
