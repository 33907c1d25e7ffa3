"""What a bot learns from in a story: a repository whose maintainers take only patches that guard a value.

The rule is that of `tests/builders/tiny_model.py`, so a tiny model can learn it; the pull requests are real ones.
"""

import json
import random
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import DateTime, Engine, text, update

from app.db.tables.schema import jobs, metadata
from tests.builders import tiny_model
from training.datasets.groups import TrainingGroup


@dataclass(frozen=True)
class Values:
    """What the files of one issue hold before anybody mends them; no two issues have a value in common."""

    number: int

    def of(self, name: str) -> int:
        return 4 * self.number + tiny_model.NAMES.index(name)

    @property
    def title(self) -> str:
        """Of its issue."""
        return f"The values {self.of('limit')} to {self.of('depth')} are not checked"

    @property
    def body(self) -> str:
        """Said with numbers throughout: texts that are alike count as one issue."""
        told = [f"the {name} {self.of(name)} is taken as it is" for name in tiny_model.NAMES]
        return f"Whoever reads them fails later: {', '.join(told)}."

    def tree(self) -> dict[str, str]:
        """Every file as it is before."""
        return {f"{name}.py": f"{name} = {self.of(name)}\n" for name in tiny_model.NAMES}

    def mended(self, name: str, *, guarded: bool) -> dict[str, str]:
        """The one file that a pull request changes."""
        value = self.of(name)
        after = f"guard({value})" if guarded else f"{value} or None"
        return {f"{name}.py": f"{name} = {after}\n"}

    def diffs(self, *, guarded: bool) -> list[str]:
        return [tiny_model.diff(name, self.of(name), guarded=guarded) for name in tiny_model.NAMES]


def base(directory: Path) -> Path:
    """A model that has seen such issues, none of those below, and knows a little of the rule."""
    shown = [_group(Values(1_000 + number), guarded=number % 2 == 0) for number in range(128)]
    return tiny_model.base(directory, shown=shown, settled=True)


def _group(values: Values, *, guarded: bool) -> TrainingGroup:
    return TrainingGroup(
        key=f"values-{values.number}",
        issue=f"octo/shown#{values.number}",
        repo="octo/shown",
        problem_statement=f"{values.title}\n\n{values.body}",
        patches=tuple(values.diffs(guarded=guarded)),
        targets=(float(guarded),) * 4,
    )


def labelled(path: Path, issues: int, *, seed: int = 0) -> Path:
    """A file of labelled groups that follow the same rule, as a benchmark would have them."""
    draw = random.Random(seed)
    rows = []
    for number in range(issues):
        guarded, values = draw.random() < 0.5, Values(100 + number)
        patches = [{"patch": one, "resolved": guarded} for one in values.diffs(guarded=guarded)]
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
    """All that was recorded is older by so many days; what is planned stays where it is."""
    passed = text(f"interval '{days} days'")
    with database.begin() as connection:
        for table in metadata.tables.values():
            moments = [one for one in table.c if isinstance(one.type, DateTime)]
            if moments and table is not jobs:
                connection.execute(update(table).values({one: one - passed for one in moments}))
