"""Pure modules are covered to the last branch. `make coverage` runs it after the tests."""

import sys
import tomllib
from pathlib import Path

from coverage import Coverage

ROOT = Path(__file__).parents[2]
CONTRACT = "pure modules do no I/O"
"""The import contract in pyproject.toml that lists them."""


def pure_files() -> list[str]:
    """Patterns of the files that the contract names; a package stands for all in it."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    contracts = project["tool"]["importlinter"]["contracts"]
    modules = next(one["source_modules"] for one in contracts if one["name"] == CONTRACT)
    paths = [ROOT.joinpath(*module.split(".")) for module in modules]
    return [f"{path}/*" if path.is_dir() else f"{path}.py" for path in paths]


def main() -> int:
    """1 with the missing lines and branches on standard output, when there are any."""
    coverage = Coverage()
    coverage.combine()
    percent = coverage.report(include=pure_files(), show_missing=True, skip_covered=True)
    return 0 if percent >= 100 else 1


if __name__ == "__main__":
    sys.exit(main())
