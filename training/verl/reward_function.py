"""Reward a judged group in verl. An export contains a copy of this file as `reward.py`."""

import json
from typing import Any

from training.objective.rewards import reward_reply


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    **_: Any,
) -> float:
    """Return the reward of the reply `solution_str` to a group: the expected share of right judgements, 0 to 1.

    `ground_truth` is JSON with `targets` and the `occupied` seats. `data_source` and `extra_info` only name the group
    in an error. Raises ValueError if no target is known.
    """
    truth = json.loads(ground_truth)
    reward = reward_reply(solution_str, truth["occupied"], truth["targets"])
    if reward is None:
        key = (extra_info or {}).get("key", "without a key")
        raise ValueError(
            f"group {key} of {data_source} has no known target; export the plan again; an export leaves such groups out"
        )
    return reward
