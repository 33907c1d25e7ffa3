"""Checks of the bot's requests."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.contract.messages import REQUEST_HEADERS, drop_header, set_header

COMMENTS = "/repos/octocat/hello-world/issues/7/comments"
CHECKS = "/repos/octocat/hello-world/check-runs"
CHECK_RUN = b"""{
  "name": "r4p", "head_sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e", "status": "completed",
  "conclusion": "neutral", "output": {"title": "Unsure", "summary": "Two of three votes."}
}"""


@dataclass(frozen=True, slots=True)
class Sent:
    headers: Mapping[str, str]


def check(contract, method, path, query=None, headers=None, body=b""):
    """List the problems of a request; it has all headers by default."""
    sent = REQUEST_HEADERS if headers is None else headers
    return [item.what for item in contract.check_request(method, path, query or {}, sent, body)]


@pytest.mark.parametrize(
    ("method", "path", "query", "body"),
    [
        ("GET", COMMENTS, {"per_page": "100", "page": "2", "since": "2026-01-01T00:00:00Z"}, b""),
        ("POST", COMMENTS, {}, b'{"body": "Three of four."}'),
        ("POST", CHECKS, {}, CHECK_RUN),
        ("PATCH", f"{CHECKS}/7", {}, b'{"status": "in_progress"}'),
        ("POST", "/app/installations/7/access_tokens", {}, b""),
        ("POST", "/app/installations/7/access_tokens", {}, b'{"permissions": {"checks": "write"}}'),
        ("DELETE", "/repos/octocat/hello-world/issues/comments/7", {}, b""),
        ("GET", "/repos/o/r/contents/.github/r4p.yml", {"ref": "main"}, b""),
        ("GET", "/repos/o/r/compare/main...octocat:fix/one", {}, b""),
        ("GET", "/repos/o/r/commits/fix/one/check-runs", {"app_id": "7", "filter": "all"}, b""),
    ],
)
def test_a_proper_request_is_accepted(contract, method, path, query, body):
    assert check(contract, method, path, query, body=body) == []


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (drop_header("User-Agent"), "no User-Agent"),
        (drop_header("Accept"), "no Accept"),
        (
            set_header("Accept", "text/plain"),
            "Accept asks for 'text/plain', which GitHub does not serve",
        ),
        (
            drop_header("X-GitHub-Api-Version"),
            "X-GitHub-Api-Version is None, not '2022-11-28'",
        ),
        (
            set_header("X-GitHub-Api-Version", "2021-01-01"),
            "X-GitHub-Api-Version is '2021-01-01', not '2022-11-28'",
        ),
    ],
)
def test_a_request_without_the_pinned_headers_is_a_violation(contract, spoil, what):
    assert check(contract, "GET", COMMENTS, headers=spoil(Sent(REQUEST_HEADERS)).headers) == [what]


def test_the_case_of_header_names_does_not_matter(contract):
    lower = {name.lower(): value for name, value in REQUEST_HEADERS.items()}
    assert check(contract, "GET", COMMENTS, headers=lower) == []


@pytest.mark.parametrize(
    ("query", "what"),
    [
        ({"per_page": "101"}, "per_page is 101, outside 1..100"),
        ({"per_page": "many"}, 'query parameter \'per_page\' /: "many" is not of type "integer"'),
        ({"pagee": "2"}, "query parameter 'pagee' is not declared"),
        ({"since": "yesterday"}, 'query parameter \'since\' /: "yesterday" is not a "date-time"'),
    ],
)
def test_a_query_github_would_ignore_or_refuse_is_a_violation(contract, query, what):
    assert check(contract, "GET", COMMENTS, query) == [what]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "no body"),
        (b"{}", '/: "body" is a required property'),
        (b'{"body": null}', '/body: null is not of type "string"'),
        (b"body=hello", "body is not JSON"),
        (b'{"body": "a", "body": "b"}', "body is not JSON: keys occur twice: ['body']"),
    ],
)
def test_a_body_github_would_refuse_is_a_violation(contract, body, what):
    violations = check(contract, "POST", COMMENTS, body=body)
    assert [item[: len(what)] for item in violations] == [what]


def test_a_body_under_another_media_type_is_a_violation(contract):
    sent = {**REQUEST_HEADERS, "Content-Type": "application/x-www-form-urlencoded"}
    violations = check(contract, "POST", COMMENTS, headers=sent, body=b'{"body": "hello"}')
    assert violations == [
        "Content-Type is 'application/x-www-form-urlencoded', not one of ['application/json']"
    ]


def test_a_body_nobody_reads_is_a_violation(contract):
    assert check(contract, "GET", COMMENTS, body=b"{}") == [
        "2 bytes of body where none is declared"
    ]


def test_a_check_run_cannot_conclude_with_a_word_of_ours(contract):
    violations = check(contract, "POST", CHECKS, body=CHECK_RUN.replace(b"neutral", b"unsure"))
    assert len(violations) == 1
    assert violations[0].startswith('/conclusion: "unsure" is not one of')


@pytest.mark.parametrize("path", ["/repos/o/r/issues/seven", "/repos/o/r/pulls/7/merge", "/"])
def test_an_unknown_path_is_a_violation(contract, path):
    assert check(contract, "GET", path) == ["the contract knows no such operation"]


@pytest.mark.parametrize("path", ["/o/r.git/info/refs", "/o/r.git/git-upload-pack"])
def test_git_is_not_the_contracts_business(contract, path):
    assert contract.check_request("GET", path, {}, {}, b"") == []
    assert contract.check_response("GET", path, 200, {}, b"") == []
