"""The documentation site builds without a warning, misses no page, has no dead link and loads nothing from elsewhere."""

import re
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from deploy.build_site import ROOT, SITE, list_pages, list_unbuilt_pages

LOADING = {("script", "src"), ("link", "href"), ("img", "src")}
"""What a browser fetches with a page, without a click."""


class Links(HTMLParser):
    """The targets and the anchors of one HTML page."""

    def __init__(self, text):
        super().__init__()
        self.targets = []
        self.loaded = []
        self.anchors = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value)
            if name in {"href", "src"}:
                self.targets.append(value)
            if (tag, name) in LOADING:
                self.loaded.append(value)


@pytest.fixture(scope="module")
def site():
    """Every page of the built site, by its path."""
    command = [sys.executable, "-m", "deploy.build_site"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    assert "No issues found" in built.stderr
    assert list_unbuilt_pages() == []
    return {path: Links(path.read_text()) for path in (SITE / "html").rglob("*.html")}


def _list_dead_links(path, links, pages):
    for target in links.targets:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        place = place / "index.html" if place.is_dir() else place
        anchors = pages[place].anchors if place in pages else set()
        if not place.is_file() or (parts.fragment and unquote(parts.fragment) not in anchors):
            yield f"{path.relative_to(SITE)}: {target}"


@pytest.mark.proof
@pytest.mark.xdist_group("site")
def test_no_link_inside_the_site_is_dead(site):
    # The page for unknown addresses names its links from the root of a server.
    pages = {path: links for path, links in site.items() if path.name != "404.html"}
    assert len(pages) > 30
    assert [
        dead for path, links in pages.items() for dead in _list_dead_links(path, links, site)
    ] == []


@pytest.mark.proof
@pytest.mark.xdist_group("site")
def test_the_site_loads_nothing_from_other_hosts(site):
    loaded = {target for links in site.values() for target in links.loaded}
    assert [target for target in loaded if urlsplit(target).netloc] == []


def test_a_page_that_the_builder_left_out_is_named(tmp_path):
    # Zensical can end before it sees the pages and report success.
    (tmp_path / "index.html").touch()
    unbuilt = {ROOT / page for page in list_unbuilt_pages(tmp_path)}
    assert unbuilt == set(list_pages()) - {ROOT / "README.md"}


def test_the_site_builder_is_in_no_extra_of_users():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert [name for name, needs in extras.items() if "zensical" in needs] == ["docs"]
    others = [
        name for name, needs in extras.items() if any(re.search(r"\bdocs\b", n) for n in needs)
    ]
    assert others == ["dev"]
