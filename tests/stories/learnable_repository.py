"""A repository to learn from: its maintainers take only patches that guard a value.

The rule is that of `tests/builders/models/tiny_model.py`, so a tiny model can learn it; the pull requests are real ones.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import DateTime, Engine, text, update

from app.db.tables.schema import jobs, metadata
from tests.builders.models import tiny_model
from training.datasets.groups import TrainingGroup


@dataclass(frozen=True)
class Values:
    """The values in the files of an issue; no two issues share a value."""

    number: int

    def get_value(self, name: str) -> int:
        return 4 * self.number + tiny_model.NAMES.index(name)

    @property
    def title(self) -> str:
        """The title of the issue."""
        return f"The values {self.get_value('limit')} to {self.get_value('depth')} are not checked"

    @property
    def body(self) -> str:
        """The body of the issue; its numbers make it unlike all others, because similar texts count as one issue."""
        sentences = [
            f"the {name} {self.get_value(name)} is taken as it is" for name in tiny_model.NAMES
        ]
        return f"Whoever reads them fails later: {', '.join(sentences)}."

    def tree(self) -> dict[str, str]:
        """Return every file before a change."""
        return {f"{name}.py": f"{name} = {self.get_value(name)}\n" for name in tiny_model.NAMES}

    def fix_file(self, name: str, *, guarded: bool) -> dict[str, str]:
        """Return the file that a pull request changes."""
        value = self.get_value(name)
        after = f"guard({value})" if guarded else f"{value} or None"
        return {f"{name}.py": f"{name} = {after}\n"}

    def diffs(self, *, guarded: bool) -> list[str]:
        return [
            tiny_model.build_diff(name, self.get_value(name), guarded=guarded)
            for name in tiny_model.NAMES
        ]


def base(directory: Path) -> Path:
    """Build a model that learnt a little of the rule from other issues."""
    shown = [_group(Values(1_000 + number), guarded=number % 2 == 0) for number in range(128)]
    return tiny_model.write_base(directory, shown=shown, settled=True)


def _group(values: Values, *, guarded: bool) -> TrainingGroup:
    return TrainingGroup(
        key=f"values-{values.number}",
        issue=f"octo/shown#{values.number}",
        repo="octo/shown",
        problem_statement=f"{values.title}\n\n{values.body}",
        patches=tuple(values.diffs(guarded=guarded)),
        targets=(float(guarded),) * 4,
    )


def write_labelled_groups(path: Path, issues: int, *, seed: int = 0) -> Path:
    """Write a file of labelled groups that follow the same rule, like a benchmark."""
    draw = random.Random(seed)
    rows = []
    for number in range(issues):
        guarded, values = draw.random() < 0.5, Values(100 + number)
        patches = [{"patch": diff, "resolved": guarded} for diff in values.diffs(guarded=guarded)]
        rows.append(
            {
                "instance_id": f"octo__values-{number + 1}",
                "repo": "octo/values",
                "problem_statement": f"{values.title}\n\n{values.body}",
                "patches": patches,
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def let_days_pass(database: Engine, days: int) -> None:
    """Make all records older by some days; planned jobs keep their time."""
    passed = text(f"interval '{days} days'")
    with database.begin() as connection:
        for table in metadata.tables.values():
            moments = [column for column in table.c if isinstance(column.type, DateTime)]
            if moments and table is not jobs:
                connection.execute(
                    update(table).values({column: column - passed for column in moments})
                )
