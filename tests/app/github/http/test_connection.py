"""One write leaves in every kind of trouble, reads try again, limits freeze the installation."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import SecretStr
from urllib3.exceptions import MaxRetryError, SSLError

from app.github.api_call import Call, Method, Response
from app.github.endpoints import API_VERSION, build_endpoints
from app.github.errors import (
    Ambiguous,
    ConversationClosed,
    Forbidden,
    GitHubDown,
    NotFound,
    RateLimited,
    Unauthorized,
    Unprocessable,
    from_response,
)
from app.github.http.auth import App, Purpose, Scope
from app.github.http.connection import GitHub, Question
from app.github.http.rate_limiter import WritePermit
from app.github.http.transport import build_retry
from app.github.wire.graphql_issues import RepositoryAnswer
from tests.builders.github.local_github import (
    KEY,
    REPOSITORY,
    MemoryEtags,
    MemoryLimits,
    Reply,
    connect,
)

NOW = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
READ = Scope.for_repository(REPOSITORY, Purpose.READ)
SECONDARY = {
    "message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
}
LIMITED = "Interactions on this repository have been restricted to collaborators only."
PRIMARY = {"message": "API rate limit exceeded for installation ID 7."}
IN_59_MINUTES = str(int((NOW + timedelta(minutes=59)).timestamp()))
IN_THE_PAST = str(int((NOW - timedelta(minutes=5)).timestamp()))
QUOTA_LEFT = {"x-ratelimit-remaining": "4771", "x-ratelimit-reset": IN_THE_PAST}

TROUBLE = {
    "502 with the effect done": (Reply(502, {"message": "Bad gateway"}), Ambiguous, None),
    "503": (Reply(503, b"<html>Unicorn!</html>"), Ambiguous, None),
    "503 that names a time": (Reply(503, {}, {"Retry-After": "3600"}), Ambiguous, None),
    "429": (Reply(429, {"message": "Too many requests"}), RateLimited, 90),
    "429 with Retry-After": (Reply(429, {}, {"Retry-After": "17"}), RateLimited, 17),
    "primary limit": (
        Reply(403, PRIMARY, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": IN_59_MINUTES}),
        RateLimited,
        59 * 60 + 1,
    ),
    "primary limit already over": (
        Reply(403, PRIMARY, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": IN_THE_PAST}),
        RateLimited,
        90,
    ),
    "secondary limit without a usable header": (Reply(403, SECONDARY, QUOTA_LEFT), RateLimited, 90),
    "secondary limit with Retry-After": (
        Reply(403, SECONDARY, {**QUOTA_LEFT, "Retry-After": "72"}),
        RateLimited,
        72,
    ),
    "read timeout": (Reply(then="silence"), Ambiguous, None),
    "reset": (Reply(then="reset"), Ambiguous, None),
    "not allowed": (
        Reply(403, {"message": "Resource not accessible by integration"}),
        Forbidden,
        None,
    ),
    "locked": (
        Reply(403, {"message": "Unable to create comment because issue is locked."}),
        ConversationClosed,
        None,
    ),
    "limited interactions": (
        Reply(422, {"message": f"Validation Failed: {LIMITED}"}),
        ConversationClosed,
        None,
    ),
    "refused": (
        Reply(422, {"message": "Validation Failed", "errors": [{"code": "x"}]}),
        Unprocessable,
        None,
    ),
    "gone": (Reply(410, {"message": "This issue was deleted"}), NotFound, None),
    "moved": (
        Reply(307, {"message": "Moved"}, {"Location": "/api/v3/repositories/42"}),
        NotFound,
        None,
    ),
}


COMMENT = Call(Method.POST, "/repos/octo/repo/issues/1/comments", body={"body": "x"})


@pytest.mark.parametrize(("reply", "error", "wait"), TROUBLE.values(), ids=TROUBLE.keys())
def test_exactly_one_write_leaves_whatever_happens(server, reply, error, wait):
    server.replies, server.now = [reply], NOW
    with connect(server.url, clock=lambda: NOW) as github:
        permit = github.permit_write(REPOSITORY)
        with pytest.raises(error) as raised:
            github.write(REPOSITORY, COMMENT, permit)
    assert server.calls == ["POST /repos/octo/repo/issues/1/comments"]
    assert type(raised.value) is error
    if wait is not None:
        assert raised.value.retry_at == NOW + timedelta(seconds=wait)


@pytest.mark.parametrize("skew", [timedelta(minutes=-10), timedelta(minutes=10)])
def test_a_reset_is_a_distance_on_githubs_clock_so_ours_may_be_wrong(server, skew):
    headers = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": IN_59_MINUTES}
    server.replies, server.now = [Reply(403, PRIMARY, headers)], NOW
    ours = NOW + skew
    with connect(server.url, clock=lambda: ours) as github, pytest.raises(RateLimited) as raised:
        github.get(REPOSITORY, "/x")
    assert raised.value.retry_at == ours + timedelta(minutes=59, seconds=1)


@pytest.mark.parametrize(
    ("reply", "times"),
    [
        pytest.param(Reply(502), 4, id="502"),
        pytest.param(Reply(503, {}, {"Retry-After": "3600"}), 4, id="503 with Retry-After"),
        pytest.param(Reply(then="reset"), 2, id="reset"),
    ],
)
def test_a_read_is_repeated_a_few_times_and_then_given_up(server, github, reply, times):
    server.replies = [reply] * 10
    with pytest.raises(GitHubDown):
        github.get(REPOSITORY, "/repos/octo/repo")
    assert len(server.asked) == times


def test_a_tls_fault_while_an_answer_is_read_repeats_no_write():
    with pytest.raises(MaxRetryError):
        build_retry().increment("POST", "/x", error=SSLError("EOF in violation of protocol"))


def test_a_read_survives_a_short_fault(server, github):
    server.replies = [Reply(502), Reply(then="reset"), Reply(200, {"id": 42})]
    assert json.loads(github.get(REPOSITORY, "/repos/octo/repo").body) == {"id": 42}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(200, b'{"data": {"rep'), id="cut off"),
        pytest.param(Reply(200, b"<!DOCTYPE html><p>Down"), id="an HTML page"),
        pytest.param(Reply(200, b"[" * 100_000), id="endlessly nested"),
        pytest.param(Reply(200, b'{"a": ' + b"9" * 5000 + b"}"), id="a number too long to read"),
        pytest.param(Reply(200, ["not", "a", "grant"]), id="another shape"),
        pytest.param(Reply(200, {"errors": [{"message": "Something went wrong"}]}), id="no data"),
        pytest.param(Reply(200, {"data": None}), id="null"),
    ],
)
def test_an_answer_that_cannot_be_read_is_githubs_fault_and_retryable(server, github, reply):
    server.replies = [reply]
    with pytest.raises(GitHubDown):
        github.graphql(READ, Question("query { x }", {}, RepositoryAnswer))


def test_graphql_goes_beside_rest_and_is_never_repeated(server, github):
    server.replies = [Reply(502)]
    with pytest.raises(GitHubDown):
        github.graphql(READ, Question("query { x }", {}, RepositoryAnswer))
    assert server.calls == ["POST /api/graphql"]


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("NOT_FOUND", NotFound),
        ("FORBIDDEN", Forbidden),
        ("RATE_LIMITED", RateLimited),
        ("X", Unprocessable),
    ],
)
def test_a_graphql_error_becomes_a_typed_error(server, github, kind, error):
    server.replies = [Reply(200, {"data": None, "errors": [{"type": kind, "message": "no"}]})]
    with pytest.raises(error):
        github.graphql(READ, Question("query { x }", {}, RepositoryAnswer))


def test_a_missing_optional_object_is_null_and_no_error(server, github):
    said = {"data": {"repository": None}, "errors": [{"type": "NOT_FOUND", "message": "no"}]}
    server.replies = [Reply(200, said)]
    question = Question("query { x }", {}, RepositoryAnswer)
    assert github.graphql(READ, question, may_miss=True).repository is None


def test_a_limit_freezes_the_installation_for_everyone(server):
    server.replies = [Reply(429, {}, {"Retry-After": "30"}), Reply(200)]
    moments = [NOW]
    with connect(server.url, clock=lambda: moments[0]) as github:
        with pytest.raises(RateLimited):
            github.get(REPOSITORY, "/repos/octo/repo")
        with pytest.raises(RateLimited, match="frozen"):
            github.get(REPOSITORY, "/repos/octo/repo")
        with pytest.raises(RateLimited):
            github.permit_write(REPOSITORY)
        assert len(server.asked) == 1
        moments[0] += timedelta(seconds=31)
        assert github.get(REPOSITORY, "/repos/octo/repo").status == 200


def test_a_refused_token_is_replaced_once_and_the_call_goes_on(server, github):
    server.replies = [Reply(401, {"message": "Bad credentials"}), Reply(201, {"id": 5})]
    answer = github.write(REPOSITORY, COMMENT, github.permit_write(REPOSITORY))
    assert answer.status == 201
    tokens = [asked.headers["Authorization"].split("_")[1] for asked in server.asked]
    assert tokens == ["1", "2"]


def test_a_refused_token_twice_is_an_error(server, github):
    server.replies = [Reply(401, {"message": "Bad credentials"})] * 2
    with pytest.raises(Unauthorized, match="clock"):
        github.get(REPOSITORY, "/repos/octo/repo")


def test_the_missing_permission_is_named(server, github):
    headers = {"X-Accepted-GitHub-Permissions": "checks=write"}
    server.replies = [Reply(403, {"message": "Resource not accessible by integration"}, headers)]
    with pytest.raises(Forbidden, match="grant the App checks=write"):
        github.get(REPOSITORY, "/repos/octo/repo")


def test_every_call_says_who_we_are_and_which_version_we_speak(server, github):
    server.replies = [Reply(200)]
    github.get(REPOSITORY, "/repos/octo/repo", {"per_page": 100})
    headers = server.asked[0].headers
    assert headers["User-Agent"] == "r4p-bot"
    assert headers["X-GitHub-Api-Version"] == API_VERSION
    assert server.calls == ["GET /repos/octo/repo?per_page=100"]


def test_an_unchanged_answer_costs_nothing_and_is_still_there(server, github):
    server.replies = [Reply(200, [1, 2], {"ETag": 'W/"a"'}), Reply(304, b"")]
    first = github.get_conditional(REPOSITORY, "/repos/octo/repo/pulls", {"state": "open"})
    second = github.get_conditional(REPOSITORY, "/repos/octo/repo/pulls", {"state": "open"})
    assert (first.status, second.status) == (200, 304)
    assert second.body == first.body == "[1, 2]"
    assert server.asked[1].headers["If-None-Match"] == 'W/"a"'


def test_another_query_is_another_cached_answer(server, github):
    server.replies = [Reply(200, [1], {"ETag": "a"}), Reply(200, [2], {"ETag": "b"})]
    github.get_conditional(REPOSITORY, "/x", {"page": 1})
    github.get_conditional(REPOSITORY, "/x", {"page": 2})
    assert "If-None-Match" not in server.asked[1].headers


def test_a_list_is_read_to_its_end(server, github):
    more = {"Link": f'<{server.url}/api/v3/x?page=2>; rel="next"'}
    server.replies = [Reply(200, [1], more), Reply(200, [2])]
    assert [answer.body for answer in github.iterate_pages(READ, "/x")] == ["[1]", "[2]"]
    assert server.calls == ["GET /x?per_page=100", "GET /x?page=2&per_page=100"]


def test_a_write_needs_its_own_installations_permit(github):
    call = Call(Method.POST, "/x")
    with pytest.raises(ValueError, match="installation 8"):
        github.write(REPOSITORY, call, WritePermit(8))
    with pytest.raises(ValueError, match="permit"):
        github.ask(READ, call)


def test_a_refused_connection_is_down_even_for_a_write():
    with connect("http://127.0.0.1:9") as github, pytest.raises(GitHubDown, match=":9: "):
        github.transport.send(Call(Method.POST, "/x"), None)


def test_a_redirect_to_another_host_is_not_followed(server, github):
    server.replies = [Reply(301, {}, {"Location": "http://example.invalid/api/v3/x"})]
    with pytest.raises(NotFound, match="R4P_GITHUB_URL"):
        github.get(REPOSITORY, "/x")
    assert len(server.asked) == 1


@pytest.mark.parametrize("date", ["", "yesterday", "Fri, 01 May 2026 12:00:00 -0000"])
def test_an_answer_without_a_usable_date_is_taken_as_of_now(date):
    call, headers = Call(Method.GET, "/x"), {"date": date, "x-ratelimit-reset": IN_59_MINUTES}
    answer = Response(403, headers | {"x-ratelimit-remaining": "0"}, json.dumps(PRIMARY))
    error = from_response(call, answer, NOW)
    assert error.retry_at == NOW + timedelta(minutes=59, seconds=1)


def test_a_process_opens_its_connection_from_its_settings(server):
    app = App(99, SecretStr(KEY))
    github = GitHub.open(app, build_endpoints(server.url), MemoryLimits(), MemoryEtags())
    server.replies = [Reply(200, {"id": 42})]
    assert github.get(REPOSITORY, "/repos/octo/repo").status == 200
    github.close()
