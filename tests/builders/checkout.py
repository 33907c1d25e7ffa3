"""A copy of this checkout without what git ignores, for programs that write where they build."""

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_checkout(folder):
    """Every tracked file and every new one, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)
    return folder
