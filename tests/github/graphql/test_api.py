"""GraphQL on GitHub's own schema: the bot's queries, errors as GitHub words them, loud gaps."""

import pytest

from app.github.wire.graphql_queries import ISSUE, PULL_ISSUES
from tests.github.conftest import expect_violation


def run_query(scene, query, number):
    owner, name = scene.repo.full_name.split("/")
    return scene.graphql(query, owner=owner, name=name, number=number)


AUTHOR = """query($owner: String!, $name: String!, $number: Int!) {
  repository(owner: $owner, name: $name) { issue(number: $number) { author { __typename login } } }
}"""


def list_error_types(answer):
    return [error["type"] for error in answer["errors"]]


def test_the_query_for_an_issue_shows_it_with_config_and_rivals(scene):
    issue = scene.repo.open_issue("Bug", "One too many", author="ann")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}", author="bob")
    repository = run_query(scene, ISSUE, issue)["data"]["repository"]
    branch = {"name": "main", "target": {"oid": scene.repo.first_sha}}
    assert repository["defaultBranchRef"] == branch
    assert repository["config"]["text"] == "mode: advisory\n"
    (node,) = repository["issue"]["closedByPullRequestsReferences"]["nodes"]
    (event,) = repository["issue"]["timelineItems"]["nodes"]
    assert event["source"] == {"__typename": "PullRequest"} | node
    assert (node["headRefOid"], node["baseRefOid"]) == (pull.head_sha, pull.base_sha)


def test_a_merged_pull_request_has_its_own_state(scene):
    pull = scene.fix("x = 1\n").number
    scene.repo.merge(pull)
    shown = run_query(scene, PULL_ISSUES, pull)["data"]["repository"]["pullRequest"]
    assert shown["state"] == "MERGED"


def test_a_missing_config_is_null(scene):
    issue = scene.repo.open_issue("Bug")
    scene.repo.commit({".github/r4p.yml": None})
    assert run_query(scene, ISSUE, issue)["data"]["repository"]["config"] is None


@pytest.mark.parametrize("field", ["issue", "pullRequest"])
def test_an_unknown_number_is_null_and_not_found(scene, field):
    query = "query($o:String!,$n:String!){repository(owner:$o,name:$n){%s(number:99){title}}}"
    owner, name = scene.repo.full_name.split("/")
    answer = scene.graphql(query % field, o=owner, n=name)
    assert answer["data"]["repository"] == {field: None}
    assert list_error_types(answer) == ["NOT_FOUND"]


def test_a_pull_request_is_no_issue(scene):
    answer = run_query(scene, ISSUE, scene.fix("x = 1\n").number)
    assert answer["data"]["repository"]["issue"] is None


def test_an_invisible_repository_is_not_found(scene, private):
    owner, name = private.repo.full_name.split("/")
    answer = scene.graphql(ISSUE, owner=owner, name=name, number=1)
    assert (answer["data"], list_error_types(answer)) == ({"repository": None}, ["NOT_FOUND"])


def test_a_missing_permission_is_forbidden(private):
    number = private.repo.open_issue("Bug")
    client = private.http(private.token(permissions={"contents": "read"}))
    owner, name = private.repo.full_name.split("/")
    body = {"query": ISSUE, "variables": {"owner": owner, "name": name, "number": number}}
    answer = client.post(f"{private.github.url}/api/graphql", json=body).json()
    assert list_error_types(answer) == ["FORBIDDEN"]


def test_a_bot_has_no_brackets_and_a_deleted_account_is_null(scene, github):
    for login, shown in (
        (scene.app.bot_login, {"__typename": "Bot", "login": scene.app.slug}),
        ("vanishing", None),
    ):
        number = scene.repo.open_issue("Bug", author=login)
        if shown is None:
            github.delete_user(login)
        issue = run_query(scene, AUTHOR, number)["data"]["repository"]["issue"]
        assert issue["author"] == shown


def build_page_query(arguments):
    return (
        "query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){issue(number:$i){"
        f"closedByPullRequestsReferences{arguments}"
        "{nodes{number} pageInfo{hasNextPage endCursor}}}}}"
    )


def read_page(scene, issue, arguments):
    owner, name = scene.repo.full_name.split("/")
    return scene.graphql(build_page_query(arguments), o=owner, n=name, i=issue)


def test_connections_are_walked_by_cursor_and_read_from_the_end(scene):
    issue = scene.repo.open_issue("Bug")
    numbers = [scene.fix(f"x = {n}\n", body=f"Fixes #{issue}").number for n in range(3)]

    def read(arguments):
        shown = read_page(scene, issue, arguments)["data"]["repository"]["issue"]
        page = shown["closedByPullRequestsReferences"]
        return [node["number"] for node in page["nodes"]], page["pageInfo"]

    first, info = read("(first:2)")
    assert (first, info["hasNextPage"]) == (numbers[:2], True)
    second, info = read(f'(first:2,after:"{info["endCursor"]}")')
    assert (second, info["hasNextPage"]) == (numbers[2:], False)
    assert read("(last:1)")[0] == numbers[2:]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ("", "MISSING_PAGINATION_BOUNDARIES"),
        ("(first:101)", "EXCESSIVE_PAGINATION"),
        ('(first:1,after:"x")', "INVALID_CURSOR_ARGUMENTS"),
    ],
)
def test_a_page_must_be_bounded(scene, arguments, kind):
    answer = read_page(scene, scene.repo.open_issue("Bug"), arguments)
    assert list_error_types(answer) == [kind]


@pytest.mark.parametrize(
    ("query", "violation"),
    [
        ("{viewer{nonsense}}", "Cannot query field 'nonsense'"),
        ("{licenses{key}}", "does not model GraphQL field Query.licenses"),
    ],
)
def test_a_field_unknown_to_github_or_the_stand_in_is_a_violation(scene, query, violation):
    expect_violation(violation)
    assert violation in scene.graphql(query)["errors"][0]["message"]


def test_a_caller_without_a_token_is_refused(scene):
    body = {"query": "{__typename}"}
    answer = scene.http().post(f"{scene.github.url}/api/graphql", json=body)
    assert answer.status_code in {401, 403}
