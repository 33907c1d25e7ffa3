"""Read which issues a training's dataset holds."""

from pathlib import Path

from app.learning.training_plan import DatasetIssue


def read_issues(dataset: Path) -> frozenset[DatasetIssue]:
    """Return the issues of a dataset; none when its operator deleted it.

    Raises OSError or ValueError.
    """
    from pyarrow import parquet  # noqa: PLC0415 (loads once a dataset was built, in no other worker)

    issues: set[DatasetIssue] = set()
    for path in dataset.glob("*.parquet"):
        table = parquet.read_table(path, columns=["issue", "source"])
        columns = (table[name].to_pylist() for name in ("issue", "source"))
        issues |= {
            DatasetIssue(issue, source, path.stem) for issue, source in zip(*columns, strict=True)
        }
    return frozenset(issues)
