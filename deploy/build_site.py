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
ATTEMPTS: Final = 5
LINK: Final = re.compile(r"\]\((?!\w+:|#)([^)#\s]+)")
"""The target of a link to a file; links to other hosts and within the page do not match."""


def build() -> int:
    """Copy the pages and build them. Returns the exit status: not 0 after a warning, or where a page is missing.

    Zensical reads folders in a thread of its own. On a busy machine it sometimes ends before it has seen the pages, writes none and
    reports success (its issues 726 and 843). The build is then repeated.
    """
    _copy_pages()
    for _ in range(ATTEMPTS):
        status = _run_zensical()
        missing = list_unbuilt_pages()
        if status or not missing:
            return status
    names = ", ".join(str(page) for page in missing)
    print(
        f"build_site: Zensical left out {names} in {ATTEMPTS} attempts; run it again",
        file=sys.stderr,
    )
    return 1


def _copy_pages() -> None:
    shutil.rmtree(SITE, ignore_errors=True)
    for path in {*list_pages(), *list_linked_files(), ROOT / "docs" / "site.css"}:
        target = SITE / "pages" / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def _run_zensical() -> int:
    command = [sys.executable, "-m", "zensical", "build", "--clean"]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def list_unbuilt_pages(html: Path = SITE / "html") -> list[Path]:
    """The pages, relative to the root, that have no file in the built site `html`."""
    pages = [page.relative_to(ROOT) for page in list_pages()]
    return [page for page in pages if not (html / _name_html(page)).is_file()]


def _name_html(page: Path) -> Path:
    # Zensical makes README.md the index of its folder.
    return page.with_name(page.name.replace("README", "index")).with_suffix(".html")


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
