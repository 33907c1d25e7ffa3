"""What Apps do and where ours is installed: checks and installations (pure)."""

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


def check_suite(source: Source) -> CheckEvent | Ignored:
    """All checks of one App on a commit finished, or were asked for again."""
    return _check(source, source.payload.part("check_suite"), is_suite=True)


def check_run(source: Source) -> CheckEvent | Ignored:
    """One check finished, was asked for again, or had a button pressed."""
    return _check(source, source.payload.part("check_run"), is_suite=False)


def _check(source: Source, check: Payload, *, is_suite: bool) -> CheckEvent | Ignored:
    app = check.part("app")
    app_id = app.number("id")
    if source.action == CheckAction.COMPLETED and app_id == source.own_app:
        return Ignored("our own check")
    button = source.payload.maybe_part("requested_action")
    return CheckEvent(
        delivery=source.delivery,
        repository=source.repository,
        sender=source.sender,
        action=CheckAction(source.action),
        is_suite=is_suite,
        id=check.number("id"),
        name=check.maybe_text("name", NAME_LIMIT) or "",
        head=check.sha("head_sha"),
        conclusion=check.maybe_text("conclusion", NAME_LIMIT),
        app_id=app_id,
        app_slug=app.maybe_text("slug", NAME_LIMIT) or "",
        pulls=tuple(PullNumber(pull.number("number")) for pull in check.parts("pull_requests")),
        external_id=check.maybe_text("external_id", NAME_LIMIT) or "",
        button=button.text("identifier", NAME_LIMIT) if button else None,
        at=check.moment("completed_at") or check.moment("updated_at"),
        output=_output(check),
    )


def _output(check: Payload) -> str:
    output = check.maybe_part("output")
    if output is None:
        return ""
    said = (output.maybe_text(name, BODY_LIMIT) for name in ("title", "summary", "text"))
    return "\n\n".join(filter(None, said))


def installation(source: Source) -> InstallationEvent:
    """The App was installed, removed, suspended, resumed or given more rights."""
    return InstallationEvent(
        delivery=source.delivery,
        installation=source.installation,
        account=_account(source.payload),
        sender=source.sender,
        action=InstallationAction(source.action),
        repositories=tuple(map(read_repository, source.payload.parts("repositories"))),
    )


def installation_repositories(source: Source) -> InstallationRepositoriesEvent:
    """Repositories came into the installation or left it."""
    return InstallationRepositoriesEvent(
        delivery=source.delivery,
        installation=source.installation,
        account=_account(source.payload),
        sender=source.sender,
        added=tuple(map(read_repository, source.payload.parts("repositories_added"))),
        removed=tuple(map(read_repository, source.payload.parts("repositories_removed"))),
    )


def _account(payload: Payload) -> str:
    account = payload.part("installation").part("account")
    # An enterprise has a slug instead of a login.
    return account.maybe_text("login", NAME_LIMIT) or account.text("slug", NAME_LIMIT)
