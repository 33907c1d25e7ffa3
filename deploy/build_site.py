"""Build the documentation site: `python -m deploy.build_site`, or `make docs`.

Zensical builds one folder. Our pages lie in the root and in `docs/`, and link files elsewhere. So this module copies the pages and
all that they link into `build/site/pages`, where the links of a checkout work as they are.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
SITE: Final = ROOT / "build" / "site"
LINK: Final = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
"""The target of a link to a file; links to other hosts and within the page do not match."""


def build() -> int:
    """Copy the pages and build them. Returns the exit status of Zensical, which is not 0 after a warning."""
    shutil.rmtree(SITE, ignore_errors=True)
    for path in {*list_pages(), *list_linked_files(), ROOT / "docs" / "site.css"}:
        target = SITE / "pages" / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean"], cwd=ROOT, check=False
    ).returncode


def list_pages() -> list[Path]:
    """The pages of the root and of `docs/`."""
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


def list_linked_files() -> Iterator[Path]:
    """Files of the repository that a page links: pictures, schemas, and notes beside the code."""
    for page in list_pages():
        for link in LINK.findall(page.read_text(encoding="utf-8")):
            path = (page.parent / link).resolve()
            if path.is_file() and path.is_relative_to(ROOT):
                yield path


if __name__ == "__main__":
    sys.exit(build())
