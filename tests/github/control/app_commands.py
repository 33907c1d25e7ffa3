"""Control commands on Apps, accounts, repositories and installations."""

from collections.abc import Callable

from tests.github.actions import installs
from tests.github.actions.installs import DEFAULT_EVENTS, DEFAULT_PERMISSIONS, AppForm
from tests.github.world.http_values import Json, not_found
from tests.github.world.state import Installation, Role
from tests.github.world.world import World


def _register_app(
    world: World,
    webhook_url: str,
    webhook_secret: str,
    slug: str,
    permissions: dict[str, str] | None = None,
    events: list[str] | None = None,
) -> Json:
    form = AppForm(
        slug=slug,
        webhook_url=webhook_url,
        webhook_secret=webhook_secret,
        permissions=permissions or DEFAULT_PERMISSIONS,
        events=tuple(events or DEFAULT_EVENTS),
    )
    app = installs.register_app(world, form)
    return {
        "app_id": app.id,
        "private_key": app.private_key,
        "slug": app.slug,
        "bot_login": app.bot.login,
        "bot_id": app.bot.id,
        "client_id": app.client_id,
        "hook_id": app.hook_id,
    }


def _set_webhook_url(world: World, app_id: int, url: str) -> None:
    world.apps[app_id].webhook_url = url


def _add_user(world: World, login: str, kind: str) -> int:
    return world.account(login, kind).id


def _delete_user(world: World, login: str) -> None:
    installs.delete_user(world.user(login))


def _create_repository(
    world: World, full_name: str, files: dict[str, str], default_branch: str, private: bool
) -> Json:
    repo = installs.create_repository(world, full_name, files, default_branch, private)
    return {"id": repo.id, "full_name": repo.full_name, "sha": repo.head_sha}


def _install(
    world: World, app_id: int, repos: list[str], permissions: dict[str, str] | None = None
) -> int:
    found = [world.repository(name) for name in repos]
    return installs.install(world, world.apps[app_id], found, permissions).id


def _installation(world: World, installation_id: int) -> Installation:
    found = world.installations.get(installation_id)
    if found is None:
        raise not_found()
    return found


def _suspend(world: World, installation_id: int, suspended: bool) -> None:
    installs.suspend(world, _installation(world, installation_id), suspended)


def _uninstall(world: World, installation_id: int) -> None:
    installs.uninstall(world, _installation(world, installation_id))


def _accept_permissions(world: World, installation_id: int, permissions: dict[str, str]) -> None:
    installs.accept_permissions(world, _installation(world, installation_id), permissions)


def _change_repositories(world: World, installation_id: int, repos: list[str], added: bool) -> None:
    found = [world.repository(name) for name in repos]
    installs.change_repositories(world, _installation(world, installation_id), found, added)


def _revoke_tokens(world: World, installation_id: int) -> int:
    kept = {k: t for k, t in world.tokens.items() if t.installation.id != installation_id}
    revoked = len(world.tokens) - len(kept)
    world.tokens = kept
    return revoked


def _grant(world: World, repo: str, login: str, role: str) -> None:
    world.repository(repo).collaborators[world.account(login).id] = Role(role)


COMMANDS: dict[str, Callable[..., object]] = {
    command.__name__.removeprefix("_"): command
    for command in (
        *(_register_app, _set_webhook_url, _add_user, _delete_user, _create_repository),
        *(_install, _suspend, _uninstall, _accept_permissions, _change_repositories),
        *(_revoke_tokens, _grant),
    )
}
