"""The last lines that one run wrote to a log that several runs share."""

from pathlib import Path


def length(log: Path) -> int:
    """The log's size in bytes; 0 where there is none yet."""
    return log.stat().st_size if log.exists() else 0


def last_lines(log: Path, since: int, count: int) -> str:
    """The last lines after the first `since` bytes."""
    with log.open("rb") as written:
        written.seek(since)
        lines = written.read().decode(errors="replace").splitlines()
    return "\n".join(lines[-count:]) or "(it wrote nothing to its log)"
