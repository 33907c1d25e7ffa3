"""The table from GitHub's operation ids to handlers and their permissions."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.github.rest import apps, git_objects, issues, people, pulls, repositories
from tests.github.world.auth import Need, needs
from tests.github.world.http_values import Answer, Call
from tests.github.world.world import World

Handler = Callable[[World, Call], Answer]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A handler with its permissions (any one is enough) and its meters."""

    handle: Handler
    needs: tuple[Need, ...] = ()
    content: bool = False
    """Return whether it creates content, which GitHub meters apart."""
    is_members_only: bool = False
    """Whether the token must cover the repository even if it is public."""
    app_only: bool = False
    """Called with an App JWT, so that repository permissions do not apply."""


def _endpoint(handle: Handler, wanted: str = "", *, content: bool = False) -> Endpoint:
    return Endpoint(handle, needs(wanted), content)


def _app(handle: Handler) -> Endpoint:
    return Endpoint(handle, app_only=True)


_READ_THREAD = "issues=read; pull_requests=read"
_WRITE_THREAD = "issues=write; pull_requests=write"

ENDPOINTS: dict[str, Endpoint] = {
    "apps/get-repo-installation": _app(apps.repository_installation),
    "apps/create-installation-access-token": _app(apps.create_token),
    "apps/get-authenticated": _app(apps.get_app),
    "apps/list-installations": _app(apps.list_installations),
    "apps/list-repos-accessible-to-installation": _endpoint(apps.list_repositories),
    "apps/create-from-manifest": _app(apps.convert_manifest),
    "apps/get-webhook-delivery": _app(apps.get_delivery),
    "apps/list-webhook-deliveries": _app(apps.list_deliveries),
    "apps/redeliver-webhook-delivery": _app(apps.redeliver),
    "users/get-authenticated": _app(people.get_user),
    "apps/list-installations-for-authenticated-user": _app(people.list_installations),
    "apps/list-installation-repos-for-authenticated-user": _app(people.list_repositories),
    "apps/delete-token": _app(people.delete_token),
    "issues/list-for-repo": _endpoint(issues.list_issues, "issues=read"),
    "issues/list-comments": _endpoint(issues.list_comments, _READ_THREAD),
    "issues/list-comments-for-repo": _endpoint(issues.list_repository_comments, _READ_THREAD),
    "issues/create-comment": _endpoint(issues.create_comment, _WRITE_THREAD, content=True),
    "issues/update-comment": _endpoint(issues.update_comment, _WRITE_THREAD),
    "issues/delete-comment": _endpoint(issues.delete_comment, _WRITE_THREAD),
    "issues/add-labels": _endpoint(issues.add_labels, _WRITE_THREAD),
    "issues/remove-label": _endpoint(issues.remove_label, _WRITE_THREAD),
    "reactions/list-for-issue-comment": _endpoint(issues.list_reactions, _READ_THREAD),
    "reactions/create-for-issue-comment": _endpoint(
        issues.create_reaction, _WRITE_THREAD, content=True
    ),
    "pulls/get": _endpoint(pulls.get_pull, "pull_requests=read"),
    "pulls/list": _endpoint(pulls.list_pulls, "pull_requests=read"),
    "pulls/list-comments-for-review": _endpoint(pulls.list_review_comments, "pull_requests=read"),
    "pulls/create": _endpoint(git_objects.create_pull, "pull_requests=write", content=True),
    "git/create-blob": _endpoint(git_objects.create_blob, "contents=write"),
    "git/create-tree": _endpoint(git_objects.create_tree, "contents=write"),
    "git/create-commit": _endpoint(git_objects.create_commit, "contents=write"),
    "git/create-ref": _endpoint(git_objects.create_ref, "contents=write"),
    "git/get-commit": _endpoint(git_objects.get_commit, "contents=read"),
    "git/get-ref": _endpoint(git_objects.get_ref, "contents=read"),
    "checks/create": _endpoint(pulls.create_check, "checks=write", content=True),
    "checks/update": _endpoint(pulls.update_check, "checks=write"),
    "checks/list-for-ref": _endpoint(pulls.checks_of_ref, "checks=read"),
    "repos/get": _endpoint(repositories.get_repository, "metadata=read"),
    "repos/get-collaborator-permission-level": Endpoint(
        repositories.get_permission, needs("metadata=read"), is_members_only=True
    ),
}
"""The operations that the bot calls. Any other request is a violation of the contract."""
