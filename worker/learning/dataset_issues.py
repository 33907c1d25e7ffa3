"""Which issues a training's dataset holds, read from its files."""

from pathlib import Path

from app.learning.training_plan import HeldIssue


def held(dataset: Path) -> frozenset[HeldIssue]:
    """The issues in it; none where the dataset, which its operator may delete, is gone. Raises OSError or ValueError."""
    from pyarrow import parquet  # noqa: PLC0415 (loads once a dataset was built, in no other worker)

    found: set[HeldIssue] = set()
    for path in dataset.glob("*.parquet"):
        table = parquet.read_table(path, columns=["issue", "source"])
        columns = (table[name].to_pylist() for name in ("issue", "source"))
        found |= {
            HeldIssue(issue, source, path.stem) for issue, source in zip(*columns, strict=True)
        }
    return frozenset(found)
