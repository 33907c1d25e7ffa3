"""Issues with the patch that is known to be right, from the folder of labelled data."""

import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from model.domain import Issue

INSTANCES = "swebench_instances.jsonl.gz"
STATEMENTS = (
    "swebench_patches.jsonl.gz",
    "distinct_eval_groups.jsonl.gz",
    "r4p_style_eval_groups.jsonl.gz",
)
"""Files with the issues' texts; the first that has one is taken."""


@dataclass(frozen=True, slots=True)
class Instance:
    """An issue and its patch. The patch says what is looked for, never what is asked."""

    id: str
    repo: str
    """`owner/name`."""
    issue: Issue
    patch: str

    @property
    def number(self) -> int:
        """Of its pull request: later ones are of a later tree."""
        return int(self.id.rpartition("-")[2])


def read(folder: Path) -> list[Instance]:
    """All instances that have a text, by project and number. Raises OSError."""
    texts = {
        row["instance_id"]: row["problem_statement"]
        for name in reversed(STATEMENTS)
        for row in _rows(folder / name)
    }
    found = [
        Instance(
            row["instance_id"], row["repo"], _issue(texts[row["instance_id"]]), row["gold_patch"]
        )
        for row in _rows(folder / INSTANCES)
        if row["instance_id"] in texts
    ]
    return sorted(found, key=lambda instance: (instance.repo, instance.number))


def _issue(statement: str) -> Issue:
    title, _, body = statement.strip().partition("\n")
    return Issue(title.strip(), body.strip())


def _rows(path: Path) -> Iterator[dict]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
