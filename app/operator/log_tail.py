"""The last lines of one run in a log that several runs share."""

from pathlib import Path


def get_size(log: Path) -> int:
    """Return the log's size in bytes; 0 without a log."""
    return log.stat().st_size if log.exists() else 0


def read_last_lines(log: Path, since: int, count: int) -> str:
    """Read the last lines after the first `since` bytes."""
    with log.open("rb") as file:
        file.seek(since)
        lines = file.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-count:]) or "(it wrote nothing to its log)"
