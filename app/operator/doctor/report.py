"""Run all checks of `r4p doctor`, print the findings, and choose the exit code."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from app.operator.doctor import app_checks, optional_checks
from app.operator.doctor.engine_checks import check_engine
from app.operator.doctor.finding import Line, Mark, build_document, format_lines, has_failure
from app.operator.doctor.store_checks import check_stores
from app.operator.doctor.webhook_checks import check_webhooks, describe_polling
from app.settings import (
    AgentSettings,
    CeilingSettings,
    EngineSettings,
    IdentitySettings,
    LogSettings,
    OperationsSettings,
    PagesSettings,
    QueueSettings,
    RetentionSettings,
    SuiteSettings,
    TrainSettings,
    check,
    load,
)
from model import catalog
from model.commands.exit_codes import print_json

WITH_DEFAULTS: Final = (
    EngineSettings,
    AgentSettings,
    IdentitySettings,
    PagesSettings,
    QueueSettings,
    CeilingSettings,
    RetentionSettings,
    SuiteSettings,
    TrainSettings,
    LogSettings,
    OperationsSettings,
)
"""Settings that none of the bot's processes demands. A wrong value of theirs keeps a process from starting."""
UNFIT: Final = 5
"""Exit code when the bot cannot work with these settings."""


def run(data: Path | None = None, *, as_json: bool = False) -> int:
    """Run `r4p doctor` and print every finding. Returns exit code 0 if the bot can work, else UNFIT (5).

    `data` is the folder of `r4p up`; None: the settings of the environment alone.
    """
    check(*WITH_DEFAULTS)
    lines = list(list_findings(data))
    if as_json:
        print_json(build_document(lines))
    else:
        sys.stdout.write("\n".join(format_lines(lines)) + "\n")
    return UNFIT if has_failure(lines) else 0


def list_findings(data: Path | None = None) -> Iterator[Line]:
    """Yield every finding.

    `data` is the folder of `r4p up`, which brings the database and the broker, and whose disk is checked. None: the
    settings must name both, and the bot's other folders are checked.
    """
    yield from _check_github()
    settings = load(EngineSettings)
    judging = list(check_engine(settings))
    yield from judging
    yield from _check_alternatives(settings.verifier, can_judge=not has_failure(judging))
    yield optional_checks.check_pages()
    yield optional_checks.check_onboarding()
    yield optional_checks.check_tests()
    yield from check_stores(may_be_unset=data is not None)
    folders = [data] if data else optional_checks.list_folders()
    # Folders that do not exist yet may lie in the same place.
    yield from dict.fromkeys(optional_checks.check_disk(folder) for folder in folders)


def _check_alternatives(verifier: str, *, can_judge: bool) -> Iterator[Line]:
    """Yield what keeps agents from writing alternatives. `can_judge`: the verifier and its engine work."""
    about = "agents"
    if not can_judge:
        text = "not checked: first mend what the verifier or its engine lacks"
        yield Line(Mark.LESS, about, text)
    elif not catalog.has_writing_model(verifier):
        yield Line(Mark.OK, about, "off: no language model writes patches")
    else:
        yield optional_checks.check_agents()
        yield optional_checks.check_drafts()


def _check_github() -> Iterator[Line]:
    if missing := app_checks.check_settings():
        yield missing
        return
    try:
        with app_checks.open_connection() as github:
            lines = list(app_checks.check_app(github))
            yield from lines
            if not any(
                line.mark is Mark.FAIL and line.about in {"App key", "GitHub"} for line in lines
            ):
                polls = load(IdentitySettings).ingress == "polling"
                yield from [describe_polling()] if polls else check_webhooks(github)
    except ValueError as error:
        yield Line(Mark.FAIL, "App key", str(error))
