"""Convert groups to the prompt rows of verl's data sets (pure)."""

import json
from collections.abc import Sequence
from typing import Any

from model.prompts.prompt_template import Template
from training.datasets import verifier_prompts
from training.datasets.groups import TrainingGroup

Row = dict[str, Any]


def build_rows(template: Template, groups: Sequence[TrainingGroup], split: str) -> list[Row]:
    """Return a row for each group, in order."""
    return [_build_prompt_row(template, group, split, index) for index, group in enumerate(groups)]


def _build_prompt_row(template: Template, group: TrainingGroup, split: str, index: int) -> Row:
    occupied = [seat for seat, patch in enumerate(group.patches, 1) if patch]
    messages = verifier_prompts.render_group(template, group)
    return {
        "data_source": f"r4p/{group.source.value}",
        "prompt": [{"role": message.role, "content": message.content} for message in messages],
        "ability": "code-review",
        # as text, since Arrow would force one shape on the truths of all rows
        "reward_model": {
            "style": "rule",
            "ground_truth": json.dumps({"targets": group.targets, "occupied": occupied}),
        },
        "extra_info": {"index": index, "split": split, "key": group.key, "issue": group.issue},
    }
