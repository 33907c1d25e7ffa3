"""REST operations of a signed-in person: the account, and the repositories that an App and the person both reach."""

from tests.github.clock import timestamp
from tests.github.objects import accounts
from tests.github.rest.paging import build_counted_page
from tests.github.world.http_values import Answer, ApiError, Call, Json, not_found
from tests.github.world.state import Installation, Repository, Role, User
from tests.github.world.world import World


def get_user(world: World, call: Call) -> Answer:
    """GET /user"""
    person = _person(call)
    empty = ("bio", "blog", "company", "email", "hireable", "location", "name")
    counts = ("followers", "following", "public_gists", "public_repos")
    return Answer(
        body={
            **accounts.user(world, person),
            **dict.fromkeys(empty),
            **dict.fromkeys(counts, 0),
            "created_at": timestamp(0),
            "updated_at": timestamp(0),
        }
    )


def list_installations(world: World, call: Call) -> Answer:
    """GET /user/installations: those on a repository that the person has explicit access to"""
    shown = [
        accounts.installation(world, installation)
        for installation in world.installations.values()
        if installation.app is call.caller.app and _list_repositories(world, call, installation)
    ]
    return build_counted_page("installations", shown, call.query, accounts.api(world, call.path))


def list_repositories(world: World, call: Call) -> Answer:
    """GET /user/installations/{installation_id}/repositories"""
    installation = world.installations.get(call.number("installation_id"))
    if installation is None or installation.app is not call.caller.app:
        raise not_found()
    shown = [
        accounts.repository(world, repo) | {"permissions": _build_permissions(role)}
        for repo, role in _list_repositories(world, call, installation)
    ]
    if not shown:
        raise not_found()
    return build_counted_page("repositories", shown, call.query, accounts.api(world, call.path))


def delete_token(world: World, call: Call) -> Answer:
    """DELETE /applications/{client_id}/token"""
    app = call.caller.app
    if app is None or app.client_id != call.params["client_id"]:
        raise not_found()
    if world.sign_ins.tokens.pop(str(call.body.get("access_token")), None) is None:
        raise ApiError(422, "Validation Failed")
    return Answer(204, None)


def _list_repositories(
    world: World, call: Call, installation: Installation
) -> list[tuple[Repository, Role]]:
    """The repositories of an installation to which the person has access by more than their being public."""
    person = _person(call)
    if installation.suspended_at is not None:
        return []
    return [
        (repo, role)
        for repo in world.repositories.values()
        if repo.id in installation.repository_ids
        and (repo.owner.id == person.id or person.id in repo.collaborators)
        and (role := world.role(repo, person)) is not Role.NONE
    ]


def _build_permissions(role: Role) -> Json:
    ranks = list(Role)
    least = {
        "admin": Role.ADMIN,
        "maintain": Role.MAINTAIN,
        "push": Role.WRITE,
        "triage": Role.TRIAGE,
        "pull": Role.READ,
    }
    return {name: ranks.index(role) >= ranks.index(needed) for name, needed in least.items()}


def _person(call: Call) -> User:
    if call.caller.person is None:
        raise ApiError(401, "Requires authentication")
    return call.caller.person
