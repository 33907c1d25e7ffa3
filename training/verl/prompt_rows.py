"""Groups as rows of prompts for an engine that runs elsewhere (pure)."""

import json
from collections.abc import Sequence
from typing import Any

from model.prompts.prompt_template import Template
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup

Row = dict[str, Any]


def of_groups(template: Template, groups: Sequence[TrainingGroup], split: str) -> list[Row]:
    """A row for each group, in their order, as verl's data sets want it."""
    return [_row(template, group, split, index) for index, group in enumerate(groups)]


def _row(template: Template, group: TrainingGroup, split: str, index: int) -> Row:
    occupied = [seat for seat, patch in enumerate(group.patches, 1) if patch]
    asked = verifier_prompts.of_group(template, group)
    return {
        "data_source": f"r4p/{group.source.value}",
        "prompt": [{"role": one.role, "content": one.content} for one in asked],
        "ability": "code-review",
        # as text, since Arrow would force one shape on the truths of all rows
        "reward_model": {
            "style": "rule",
            "ground_truth": json.dumps({"targets": group.targets, "occupied": occupied}),
        },
        "extra_info": {"index": index, "split": split, "key": group.key, "issue": group.issue},
    }
