"""`r4p doctor` on what verdicts do not need: agents, tests of repositories, draft pull requests, pages and disk space."""

import shutil
from pathlib import Path
from typing import Final

from app.operator.doctor.finding import Line, Mark
from app.sandbox import check_sandbox
from app.settings import (
    AgentSettings,
    GitHubSettings,
    IdentitySettings,
    PagesSettings,
    SuiteSettings,
    TrainSettings,
    WriterSettings,
    find_mistakes,
    load,
)
from app.settings.repo_config import FILE
from model.agents.agent_catalog import require_agent
from model.environments.environment_cache import EnvironmentCache
from model.errors import ModelError
from model.sandbox import bubblewrap

LEAST_FREE_BYTES: Final = 2 * 1024**3
"""Free space below which the doctor warns: checkouts and source trees of a mid-sized repository need this much."""


def check_agents() -> Line:
    """Check whether agents can write alternatives. Verdicts need no agents."""
    settings = load(AgentSettings)
    try:
        require_agent(settings.agent, settings.repair_prompt)
    except ModelError as error:
        return Line(Mark.LESS, "agents", f"no alternatives can be written: {error}")
    if why := check_sandbox():
        return Line(Mark.LESS, "agents", f"no alternatives can be written: {why}")
    return Line(Mark.OK, "agents", f"bubblewrap isolates them: {bubblewrap.find()}")


def check_tests() -> Line:
    """Check whether the tests of repositories can run. Verdicts need none."""
    about, settings = "tests", load(SuiteSettings)
    if settings.tests is None:
        return Line(Mark.OK, about, "off: R4P_TESTS names no folder of test environments")
    if not (names := EnvironmentCache(settings.tests).list_names()):
        fix = "build one by `r4p environments build`"
        return Line(Mark.LESS, about, f"R4P_TESTS {settings.tests} holds no test environment", fix)
    if why := check_sandbox():
        return Line(Mark.LESS, about, f"none can run: {why}")
    count = settings.reproduction_tests
    written = f"; the model writes {count} tests for an issue" if count else ""
    return Line(Mark.OK, about, f"environments in {settings.tests}: {', '.join(names)}{written}")


def check_drafts() -> Line:
    """Check the writer App, which opens draft pull requests. It is optional."""
    about = "draft pull requests"
    if load(IdentitySettings).writer_app_id is None:
        return Line(Mark.OK, about, "off: R4P_WRITER_APP_ID names no second App")
    if wrong := find_mistakes(WriterSettings):
        return Line(Mark.LESS, about, f"none can be opened: {'; '.join(wrong)}")
    writer = load(WriterSettings)
    message = f"App {writer.writer_app_id} opens them, if {FILE} says draft_pull_requests: true"
    return Line(Mark.OK, about, message)


def check_pages() -> Line:
    """Check whether people can sign in to the pages. They are off by default."""
    about, settings = "pages", load(PagesSettings)
    if settings.has_sign_in:
        return Line(Mark.OK, about, f"on at {settings.public_url}")
    if why := settings.explain_no_sign_in():
        return Line(Mark.LESS, about, why, "set what is missing, or unset R4P_OAUTH_CLIENT_ID")
    names = "R4P_PUBLIC_URL, R4P_OAUTH_CLIENT_ID and R4P_OAUTH_CLIENT_SECRET"
    return Line(Mark.OK, about, f"off: {names} switch them on")


def check_onboarding() -> Line:
    """Check whether the writer App can open setup pull requests in new repositories. They are off by default."""
    about = "setup pull requests"
    if not load(IdentitySettings).onboarding:
        return Line(Mark.OK, about, "off: R4P_ONBOARDING is not true")
    if wrong := find_mistakes(WriterSettings):
        return Line(Mark.LESS, about, f"none can be opened: {'; '.join(wrong)}")
    message = (
        f"App {load(WriterSettings).writer_app_id} opens one in each new repository without {FILE} on which it is "
        "installed, too; the log of the process `writer` names the others"
    )
    return Line(Mark.OK, about, message)


def check_disk(folder: Path) -> Line:
    """Check the free space where `folder` lies or will lie."""
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(there).free
    message = f"{free / 1024**3:.1f} GB free at {there}"
    if free < LEAST_FREE_BYTES:
        return Line(Mark.LESS, "disk", message, "free some, or name another folder")
    return Line(Mark.OK, "disk", message)


def list_folders() -> list[Path]:
    """Return the folders in which the bot writes with these settings."""
    folders: list[Path] = []
    if not find_mistakes(GitHubSettings):
        folders.append(load(GitHubSettings).checkout_dir)
    folders.append(load(AgentSettings).trees)
    tests = load(SuiteSettings)
    if tests.tests is not None:
        folders.append(tests.tests_trees)
    if not find_mistakes(TrainSettings) and (training := load(TrainSettings)).train_plan:
        folders.append(training.train_dir)
    return folders
