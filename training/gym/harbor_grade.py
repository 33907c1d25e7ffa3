"""Grade a Harbor task: run its tests, and write 1 or 0 to the file of the reward. It is copied into exports and stands alone."""

import json
import sys
from pathlib import Path

import pytest


class Recorder:
    """A plugin of pytest that keeps the tests that pass."""

    def __init__(self) -> None:
        self.passed: set[str] = set()
        self.failed: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep how a phase of a test ended."""
        if report.when == "call" and report.passed:
            self.passed.add(report.nodeid)
        elif report.failed:
            self.failed.add(report.nodeid)


def main() -> None:
    """Run the tests that the file of expectations names; its path and that of the reward are the arguments."""
    expected = json.loads(Path(sys.argv[1]).read_text())
    reward = Path(sys.argv[2])
    wanted = {*expected["fail_to_pass"], *expected["pass_to_pass"]}
    recorder = Recorder()
    files = sorted({test.partition("::")[0] for test in wanted})
    sys.path[:0] = ["src", "."]
    pytest.main([*expected["arguments"], *files], plugins=[recorder])
    reward.parent.mkdir(parents=True, exist_ok=True)
    reward.write_text("1" if wanted <= recorder.passed - recorder.failed else "0")


if __name__ == "__main__":
    main()
