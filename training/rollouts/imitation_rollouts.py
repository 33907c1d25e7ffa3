"""Sample repairs and reward them by their match with the merged fix (SWE-RL, section 2 and equation 1)."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from model.agents.agentless.repair_prompt import load_repair_prompt
from model.prompts.special_tokens import read_special_tokens
from training.datasets.merged_fixes import MergedFix
from training.objective import rewards
from training.plans.plan import TrainPlan
from training.rollouts import tokenization
from training.rollouts.group_rollouts import GroupRollouts, Row


@dataclass(slots=True)
class ImitationRollouts(GroupRollouts):
    """Rollouts that repair issues. The reward is the match with the merged fix."""

    match: Literal["continuous", "discrete"] = "continuous"
    """How a reply's patch is compared with the merged one."""

    def reward(self, completions: list[str], **columns: Any) -> list[float | None]:
        """Return the reward of each reply, 0 to 1, or -1 for a malformed one. None: the merged fix is too long.

        Uses the row columns `files` and `merged`, and TRL's `log_metric`.
        """
        earned = [
            rewards.reward_imitation(reply, json.loads(files), json.loads(merged), self.match)
            for reply, files, merged in zip(
                completions, columns["files"], columns["merged"], strict=True
            )
        ]
        for reward in earned:
            columns["log_metric"]("format_valid", float(reward != rewards.MALFORMED_REWARD))
        return earned


def build_rows(
    plan: TrainPlan, fixes: Iterable[MergedFix], tokenizer: Any
) -> tuple[dict[str, Row], Counter[str]]:
    """Return the rows by issue of the fixes that the model can be asked about, and counts of the others by reason."""
    template, tokens = load_repair_prompt(plan.prompt.template), read_special_tokens(tokenizer)
    rows: dict[str, Row] = {}
    left_out: Counter[str] = Counter()
    for fix in fixes:
        prompt = tokenization.render_prompt(tokenizer, fix.render(template, tokens))
        if len(tokenization.tokenize_text(tokenizer, prompt)) > plan.prompt.max_tokens:
            left_out[f"a prompt of more than {plan.prompt.max_tokens} tokens"] += 1
            continue
        # JSON: a column of dicts would get the paths of all rows as keys
        files, merged = json.dumps(dict(fix.files)), json.dumps(dict(fix.merged))
        rows[fix.issue] = {"prompt": prompt, "key": fix.issue, "files": files, "merged": merged}
    return rows, left_out


def build_imitation_rollouts(
    plan: TrainPlan, rows: Sequence[Row], tokenizer: Any
) -> ImitationRollouts:
    """Build the rollouts of `rows`, whose order is the order of training."""
    return ImitationRollouts(
        list(rows), plan.rollout.replies, tokenizer, match=plan.rollout.imitation
    )
