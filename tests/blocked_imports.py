"""A Python in which some modules can't be imported: what an installation without an extra is."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from app.settings import build_plain_environment

ROOT = Path(__file__).parents[1]


def run(folder: Path, modules: Iterable[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """`python -m …` in a process of its own, and in every process that this one becomes."""
    block = f"import sys\nsys.modules.update(dict.fromkeys({sorted(modules)!r}))\n"
    (folder / "sitecustomize.py").write_text(block)
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        env=build_plain_environment() | {"PYTHONPATH": f"{folder}:{ROOT}", "COLUMNS": "200"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
