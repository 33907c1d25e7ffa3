"""The scope of the contract: the REST operations and webhook events that the bot meets."""

from collections.abc import Mapping

Operations = Mapping[str, tuple[str, ...]]
"""Methods by path template."""

_REPO = "/repos/{owner}/{repo}"
_COMMENT = f"{_REPO}/issues/comments/{{comment_id}}"
_ISSUE = f"{_REPO}/issues/{{issue_number}}"
_PULL = f"{_REPO}/pulls/{{pull_number}}"
_DELIVERY = "/app/hook/deliveries/{delivery_id}"
_INSTALLATION = "/app/installations/{installation_id}"
OPERATIONS: Operations = {
    "/app": ("get",),
    "/app/installations": ("get",),
    _INSTALLATION: ("get",),
    f"{_INSTALLATION}/access_tokens": ("post",),
    "/app/hook/deliveries": ("get",),
    _DELIVERY: ("get",),
    f"{_DELIVERY}/attempts": ("post",),
    "/app-manifests/{code}/conversions": ("post",),
    "/installation/repositories": ("get",),
    "/meta": ("get",),
    "/rate_limit": ("get",),
    _REPO: ("get",),
    f"{_REPO}/check-runs": ("post",),
    f"{_REPO}/check-runs/{{check_run_id}}": ("get", "patch"),
    f"{_REPO}/collaborators/{{username}}/permission": ("get",),
    f"{_REPO}/commits": ("get",),
    f"{_REPO}/commits/{{ref}}": ("get",),
    f"{_REPO}/commits/{{ref}}/check-runs": ("get",),
    f"{_REPO}/commits/{{ref}}/check-suites": ("get",),
    f"{_REPO}/compare/{{basehead}}": ("get",),
    f"{_REPO}/contents/{{path}}": ("get",),
    f"{_REPO}/git/blobs": ("post",),
    f"{_REPO}/git/commits": ("post",),
    f"{_REPO}/git/commits/{{commit_sha}}": ("get",),
    f"{_REPO}/git/ref/{{ref}}": ("get",),
    f"{_REPO}/git/refs": ("post",),
    f"{_REPO}/git/trees": ("post",),
    f"{_REPO}/installation": ("get",),
    f"{_REPO}/issues": ("get",),
    f"{_REPO}/issues/comments": ("get",),
    _COMMENT: ("get", "patch", "delete"),
    f"{_COMMENT}/reactions": ("get", "post"),
    f"{_COMMENT}/reactions/{{reaction_id}}": ("delete",),
    _ISSUE: ("get",),
    f"{_ISSUE}/comments": ("get", "post"),
    f"{_ISSUE}/labels": ("post",),
    f"{_ISSUE}/labels/{{name}}": ("delete",),
    f"{_ISSUE}/timeline": ("get",),
    f"{_REPO}/pulls": ("get", "post"),
    _PULL: ("get",),
    f"{_PULL}/commits": ("get",),
    f"{_PULL}/files": ("get",),
    f"{_PULL}/reviews": ("get",),
    f"{_PULL}/reviews/{{review_id}}/comments": ("get",),
    "/applications/{client_id}/token": ("delete",),
    "/user": ("get",),
    "/user/installations": ("get",),
    "/user/installations/{installation_id}/repositories": ("get",),
    "/users/{username}": ("get",),
}
EVENTS = (
    "check_run",
    "check_suite",
    "installation",
    "installation_repositories",
    "issue_comment",
    "issues",
    "label",
    "ping",
    "pull_request",
    "pull_request_review",
    "push",
    "star",
)
