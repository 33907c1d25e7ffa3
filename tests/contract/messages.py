"""Valid messages of GitHub, and functions that break one part of a message."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.github.contract import Contract, Violation, check_graphql

VALUES = {"owner": "octocat", "repo": "hello-world", "username": "octocat", "path": "README.md"}
HEADERS = {
    "Content-Type": "application/json; charset=utf-8",
    "X-GitHub-Request-Id": "C0DE:1A2B:3C4D5E:6F7A8B:65E0F2A1",
    "ETag": 'W/"5c8c6d3fb1f1a2c4"',
    "Location": "https://api.github.com/repos/octocat/hello-world/issues/comments/1",
    "X-RateLimit-Limit": "5000",
    "X-RateLimit-Remaining": "4987",
    "X-RateLimit-Used": "13",
    "X-RateLimit-Reset": "1795237200",
    "X-RateLimit-Resource": "core",
}
REQUEST_HEADERS = {
    "User-Agent": "r4p",
    "Accept": "application/vnd.github+json",
    "X-GitHub-Api-Version": "2022-11-28",
    "Content-Type": "application/json",
}
DELIVERY_HEADERS = {
    "User-Agent": "GitHub-Hookshot/044aadd",
    "X-GitHub-Hook-ID": "12312312",
    "X-GitHub-Delivery": "0b989ba4-242f-11e5-81e1-c7b6966d2516",
    "X-GitHub-Hook-Installation-Target-ID": "123123",
    "X-GitHub-Hook-Installation-Target-Type": "integration",
    "X-Hub-Signature-256": "sha256=" + "5d" * 32,
    "Content-Type": "application/json",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of the REST API, with the call it answers."""

    method: str
    path: str
    status: int
    headers: Mapping[str, str]
    body: Any
    query: Mapping[str, str]
    raw: bytes | None = None
    """The body where it is no JSON."""

    def violations(self, contract: Contract) -> list[Violation]:
        body = json.dumps(self.body).encode() if self.raw is None else self.raw
        return contract.check_response(
            self.method, self.path, self.status, self.headers, body, self.query
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """A webhook on its way to the bot."""

    event: str
    headers: Mapping[str, str]
    body: Any

    def violations(self, contract: Contract) -> list[Violation]:
        return contract.check_webhook(self.event, self.headers, json.dumps(self.body).encode())


@dataclass(frozen=True, slots=True)
class Exchange:
    """A GraphQL call and its answer."""

    query: str
    variables: Any
    body: Any
    headers: Mapping[str, str]

    def violations(self, contract: Contract) -> list[Violation]:
        request = json.dumps({"query": self.query, "variables": self.variables}).encode()
        answer = json.dumps(self.body).encode()
        return [
            *contract.check_request("POST", "/graphql", {}, REQUEST_HEADERS, request),
            *contract.check_response("POST", "/graphql", 200, self.headers, answer),
            *check_graphql(request, answer),
        ]


Message = Answer | Delivery | Exchange


def fill_path(template: str) -> str:
    """Fill a path template with numbers for ids and known names for the rest."""

    def value(match: re.Match[str]) -> str:
        return VALUES.get(match[1], "7" if match[1].endswith(("_id", "_number")) else "main")

    return re.sub(r"\{(\w+)\}", value, template)


def build_answer(contract: Contract, operation_id: str, status: int = 200) -> Answer:
    """Build an answer from the stored example, as the only page."""
    method, template = contract.operations()[operation_id]
    body = contract.rest_example(operation_id, status)
    return Answer(method, fill_path(template), status, HEADERS, body, {})


def build_page(contract: Contract, operation_id: str, number: int) -> Answer:
    """Build page `number` of three of a list operation, with one item a page."""
    base = build_answer(contract, operation_id)
    body = base.body
    if isinstance(body, list):
        body = body[:1]
    else:
        body["total_count"] = 3
    url = f"https://api.github.com{base.path}?per_page=1&page="
    rels = {"prev": number - 1, "next": number + 1, "last": 3, "first": 1}
    shown = [
        f'<{url}{target}>; rel="{rel}"'
        for rel, target in rels.items()
        if 1 <= target <= 3 and target != number
    ]
    headers = {**HEADERS, "Link": ", ".join(shown)}
    query = {"per_page": "1", "page": str(number)}
    return replace(base, body=body, headers=headers, query=query)


def build_delivery(contract: Contract, event: str, action: str | None = None) -> Delivery:
    """Build a delivery from the stored example, with its headers."""
    headers = {**DELIVERY_HEADERS, "X-GitHub-Event": event}
    return Delivery(event, headers, contract.webhook_example(event, action))


LINKS_QUERY = """
query Links($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) {
    issue(number: $number) {
      ...Linked
      timelineItems(first: 10) {
        nodes {
          __typename
          ... on CrossReferencedEvent { willCloseTarget createdAt }
          ... on ConnectedEvent { subject { __typename ... on PullRequest { number } } }
        }
      }
    }
  }
}
fragment Linked on Issue {
  id
  number
  closed
  closedByPullRequestsReferences(first: 10, includeClosedPrs: true) {
    totalCount
    pageInfo { hasNextPage endCursor }
    nodes { number state headRefOid url body: bodyText }
  }
}
"""


def build_exchange() -> Exchange:
    """Build a GraphQL call for the pull requests of an issue, with GitHub's answer."""
    pull = {
        "number": 8,
        "state": "OPEN",
        "headRefOid": "6dcb09b5b57875f334f61aebed695e2e4193db5e",
        "url": "https://github.com/octocat/hello-world/pull/8",
        "body": "Fixes #7",
    }
    connected = {
        "__typename": "ConnectedEvent",
        "subject": {"__typename": "PullRequest", "number": 8},
    }
    crossed = {
        "__typename": "CrossReferencedEvent",
        "willCloseTarget": True,
        "createdAt": "2026-11-21T10:00:00Z",
    }
    issue = {
        "id": "I_kwDOABCD",
        "number": 7,
        "closed": False,
        "closedByPullRequestsReferences": {
            "totalCount": 1,
            "pageInfo": {"hasNextPage": False, "endCursor": None},
            "nodes": [pull],
        },
        "timelineItems": {"nodes": [crossed, connected]},
    }
    variables = {"owner": "octocat", "name": "hello-world", "number": 7}
    return Exchange(LINKS_QUERY, variables, {"data": {"repository": {"issue": issue}}}, HEADERS)


def drop_header(name: str) -> Callable[[Any], Any]:
    """Remove a header from any kind of message."""

    def spoil(message: Any) -> Any:
        kept = {key: value for key, value in message.headers.items() if key != name}
        assert kept != message.headers
        return replace(message, headers=kept)

    return spoil


def set_header(name: str, value: str) -> Callable[[Any], Any]:
    """Set a header."""
    return lambda message: replace(message, headers={**message.headers, name: value})


def set_place(path: str, value: Any) -> Callable[[Any], Any]:
    """Set a value in the body by its path, such as `user/login` or `0/id`."""

    def spoil(message: Any) -> Any:
        place, key = _reach(message.body, path)
        place[key] = value
        return message

    return spoil


def drop_place(path: str) -> Callable[[Any], Any]:
    """Delete a value from the body by its path."""

    def spoil(message: Any) -> Any:
        place, key = _reach(message.body, path)
        del place[key]
        return message

    return spoil


def rename_key(path: str, name: str) -> Callable[[Any], Any]:
    """Rename a key of the body."""

    def spoil(message: Any) -> Any:
        place, key = _reach(message.body, path)
        place[name] = place.pop(key)
        return message

    return spoil


def _reach(body: Any, path: str) -> tuple[Any, Any]:
    *steps, last = [int(step) if step.isdecimal() else step for step in path.split("/")]
    for step in steps:
        body = body[step]
    return body, last
