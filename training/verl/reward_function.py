"""The reward of a judged group, as verl calls it: copied as `reward.py` beside an exported plan."""

import json
from typing import Any

from training.objective.rewards import reply


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: str,
    extra_info: dict[str, Any] | None = None,
    **_: Any,
) -> float:
    """The share of right judgements, 0 to 1. `ground_truth` is JSON: `targets` and the seats that are `occupied`.

    Raises ValueError where no truth is known: such a group has no business among the rows.
    """
    truth = json.loads(ground_truth)
    reward = reply(solution_str, truth["occupied"], truth["targets"])
    if reward is None:
        key = (extra_info or {}).get("key", "without a key")
        raise ValueError(
            f"group {key} of {data_source} has no known target; export the plan anew, which leaves it out"
        )
    return reward
