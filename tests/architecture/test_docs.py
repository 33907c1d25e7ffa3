"""The pages say what is true: files they name exist, commands run, settings are read."""

import ast
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from app.cli import main
from app.policy.command_registry import write_command_rows
from app.settings import list_known_names, repo_config
from app.settings.repo_config import RepoConfig
from deploy.build_site import list_pages
from deploy.write_reference import DOCS
from deploy.write_reference import PAGES as GENERATED

ROOT = Path(__file__).parents[2]
GUIDES = sorted((ROOT / "docs").glob("*.md"))
PAGES = [
    *(
        ROOT / name
        for name in (
            "README.md",
            "ARCHITECTURE.md",
            "SECURITY.md",
            "CONTRIBUTING.md",
            "CHANGELOG.md",
            "deploy/description.md",
        )
    ),
    *GUIDES,
]
COMMENTS = sorted((ROOT / "app/comments").glob("*.py"))
BECOMES_ANOTHER = {
    command.callback.__name__
    for command in main.registered_commands
    if (command.context_settings or {}).get("help_option_names") == []
}
"""They replace their process: asked within this one, they would end the tests."""
README = (ROOT / "README.md").read_text()
TEXT = "\n".join(page.read_text() for page in PAGES)


def anchors(page):
    """The anchors that GitHub gives the headings of a page."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page):
    broken = []
    for link, anchor in re.findall(r"\]\((?!https?://)([^)#]*)(?:#([^)]+))?\)", page.read_text()):
        target = page.parent / link if link else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(f"{link}#{anchor}")
    assert broken == []


def test_the_index_links_every_page():
    index = (ROOT / "docs/index.md").read_text()
    missing = [page.name for page in GUIDES if f"({page.name})" not in index]
    assert [name for name in missing if name != "index.md"] == []


def _list_navigation(entries):
    for entry in entries:
        for target in entry.values() if isinstance(entry, dict) else [entry]:
            yield from _list_navigation(target) if isinstance(target, list) else [target]


def test_the_navigation_names_every_page_once():
    entries = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert [*map(next, map(iter, entries))] == [
        "Home", "Tutorial", "How-to", "Reference", "Explanation", "Glossary"
    ]  # fmt: skip
    pages = [str(path.relative_to(ROOT)) for path in list_pages()]
    assert sorted(_list_navigation(entries)) == sorted(pages)


@pytest.mark.parametrize("name", GENERATED)
def test_a_page_of_the_reference_is_what_the_code_says(name):
    assert (DOCS / name).read_text() == GENERATED[name](), "run make docs"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page):
    named = re.findall(
        r"`((?:app|worker|model|training|migrations|deploy|tests|docs)/[\w./-]*)`", page.read_text()
    )
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_every_module_that_a_page_starts_is_there():
    ours = "app|worker|model|training|migrations|deploy|tests"
    started = set(re.findall(rf"python -m ((?:{ours})(?:\.\w+)*)", TEXT))
    assert len(started) > 5
    files = {name: ROOT / name.replace(".", "/") for name in started}
    assert [
        name
        for name, path in sorted(files.items())
        if not path.with_suffix(".py").exists() and not (path / "__main__.py").exists()
    ] == []


def test_every_command_of_the_pages_is_one():
    known = {command.name or command.callback.__name__ for command in main.registered_commands}
    known |= {group.name for group in main.registered_groups}
    named = set(re.findall(r"(?:\bbin/|`|^)r4p ([a-z]+)", TEXT, re.MULTILINE))
    assert named - known == set()
    for command in sorted(known - BECOMES_ANOTHER):
        assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0


@pytest.mark.parametrize("command", sorted(BECOMES_ANOTHER))
def test_a_command_that_becomes_another_process_offers_help_too(command):
    asked = [sys.executable, "-m", "app.cli", command, "--help"]
    assert subprocess.run(asked, cwd=ROOT, check=False, capture_output=True).returncode == 0


@pytest.mark.parametrize("module", COMMENTS, ids=lambda module: module.name)
def test_every_command_that_a_comment_names_is_one(module):
    known = {command.name or command.callback.__name__ for command in main.registered_commands}
    texts = [
        node.value
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    named = {word for text in texts for word in re.findall(r"`(?:bin/)?r4p ([a-z]+)", text)}
    assert named - known == set()


def test_every_verb_of_the_makefile_that_is_named_exists():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for verb in re.findall(r"`make ([a-z-]+)", page.read_text()):
            assert re.search(rf"^{verb}:", makefile, re.MULTILINE), verb


def test_every_setting_of_the_pages_is_read():
    named = set(re.findall(r"\bR4P_[A-Z_]*[A-Z]\b(?!_|…)", TEXT))
    assert named - list_known_names() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_configuration_shown_is_valid(page):
    for block in re.findall(r"```yaml\n(.*?)```", page.read_text(), re.DOTALL):
        assert isinstance(repo_config.parse(textwrap.dedent(block)), RepoConfig)


def test_the_page_on_repositories_shows_every_key_of_the_configuration():
    (block,) = re.findall(
        r"```yaml\n(.*?)```", (ROOT / "docs/repository.md").read_text(), re.DOTALL
    )
    assert set(yaml.safe_load(block)) == set(RepoConfig.model_fields)


def test_the_readme_lists_the_commands_as_the_registry_does():
    for usage, description, access, _ in write_command_rows():
        written = usage.replace("|", "\\|")
        assert f"| `{written}` | {description} | {access} |" in README


def test_the_reference_names_who_may_use_a_command_as_the_registry_does():
    reference = (DOCS / "reference.md").read_text()
    for usage, description, access, _ in write_command_rows():
        written = usage.replace("|", "\\|")
        assert f"| `{written}` | {description} | {access} |" in reference


def test_every_published_figure_on_models_links_its_source():
    page = (ROOT / "docs/which-model.md").read_text()
    rows = re.findall(r"^\| .*\.\d{3}.*\|$", page.partition("## Measured here")[0], re.MULTILINE)
    published = [row for row in rows if "measured here" not in row]
    assert len(published) > 4
    assert [row for row in published if "](https://" not in row] == []


def test_the_readme_holds_no_blank_to_fill():
    assert re.findall(r"\bDEMO_[A-Z]+", README) == []


def test_the_readme_fits_on_a_few_screens():
    assert len(README.splitlines()) <= 140
