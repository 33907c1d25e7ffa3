"""Reads deliveries about Apps: checks and installations (pure)."""

from app.events.delivery_source import NAME_LIMIT, Source, read_repository
from app.events.event import (
    CheckAction,
    CheckEvent,
    Ignored,
    InstallationAction,
    InstallationEvent,
    InstallationRepositoriesEvent,
)
from app.events.payload import BODY_LIMIT, Payload
from app.values.identifiers import PullNumber


def read_check_suite(source: Source) -> CheckEvent | Ignored:
    """Return the event of a delivery about a check suite: all checks of an App finished, or should run again.

    The end of our own App's checks is Ignored.
    """
    return _read_check(source, source.payload.get_object("check_suite"), is_suite=True)


def read_check_run(source: Source) -> CheckEvent | Ignored:
    """Return the event of a delivery about a check run: it finished, should run again, or its button was pressed.

    The end of our own App's check run is Ignored.
    """
    return _read_check(source, source.payload.get_object("check_run"), is_suite=False)


def _read_check(source: Source, check: Payload, *, is_suite: bool) -> CheckEvent | Ignored:
    app = check.get_object("app")
    app_id = app.get_number("id")
    if source.action == CheckAction.COMPLETED and app_id == source.own_app:
        return Ignored("our own check")
    button = source.payload.find_object("requested_action")
    return CheckEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=CheckAction(source.action),
        is_suite=is_suite,
        id=check.get_number("id"),
        name=check.find_text("name", NAME_LIMIT) or "",
        head=check.get_sha("head_sha"),
        conclusion=check.find_text("conclusion", NAME_LIMIT),
        app_id=app_id,
        app_slug=app.find_text("slug", NAME_LIMIT) or "",
        is_ours=app_id == source.own_app,
        pulls=tuple(
            PullNumber(pull.get_number("number")) for pull in check.list_objects("pull_requests")
        ),
        external_id=check.find_text("external_id", NAME_LIMIT) or "",
        button=button.get_text("identifier", NAME_LIMIT) if button else None,
        occurred_at=check.find_time("completed_at") or check.find_time("updated_at"),
        output=_read_output(check),
    )


def _read_output(check: Payload) -> str:
    output = check.find_object("output")
    if output is None:
        return ""
    parts = (output.find_text(name, BODY_LIMIT) for name in ("title", "summary", "text"))
    return "\n\n".join(filter(None, parts))


def read_installation(source: Source) -> InstallationEvent:
    """Return the event of a delivery about an installation of the App.

    It was created, removed, suspended or resumed, or got more rights.
    """
    return InstallationEvent(
        delivery=source.delivery,
        installation=source.installation,
        account=_read_account(source.payload),
        account_id=_read_account_id(source.payload),
        sender=source.sender,
        action=InstallationAction(source.action),
        repositories=tuple(map(read_repository, source.payload.list_objects("repositories"))),
        suspended_at=source.payload.get_object("installation").find_time("suspended_at"),
    )


def read_installation_repositories(source: Source) -> InstallationRepositoriesEvent:
    """Return the event of a delivery about repositories that joined or left an installation."""
    return InstallationRepositoriesEvent(
        delivery=source.delivery,
        installation=source.installation,
        account=_read_account(source.payload),
        account_id=_read_account_id(source.payload),
        sender=source.sender,
        added=tuple(map(read_repository, source.payload.list_objects("repositories_added"))),
        removed=tuple(map(read_repository, source.payload.list_objects("repositories_removed"))),
    )


def _read_account_id(payload: Payload) -> int:
    return payload.get_object("installation").get_object("account").get_number("id")


def _read_account(payload: Payload) -> str:
    account = payload.get_object("installation").get_object("account")
    # An enterprise has a slug instead of a login.
    return account.find_text("login", NAME_LIMIT) or account.get_text("slug", NAME_LIMIT)
