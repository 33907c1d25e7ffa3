"""The stand-in's record of one run: requests answered and rules broken."""

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.github.contract import Violation


@dataclass(frozen=True, slots=True)
class Request:
    """An answered request; `at` is simulated, `installation` is None without a token."""

    method: str
    route: str
    status: int
    at: float
    installation: int | None


class Journal:
    """Requests in memory; violations in memory and, one JSON object a line, in a file."""

    def __init__(self, violations_file: Path) -> None:
        self._file = violations_file
        self._file.touch()
        self.requests: list[Request] = []
        self.violations: list[Violation] = []

    def break_rule(self, where: str, what: str) -> None:
        """Record a violation."""
        broken = Violation(where, what)
        self.violations.append(broken)
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(broken)) + "\n")

    def counts(self, since: int) -> Counter[str]:
        """Count the calls of each `METHOD /route` after the first `since` requests."""
        return Counter(f"{r.method} {r.route}" for r in self.requests[since:])
