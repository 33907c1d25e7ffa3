"""GraphQL on GitHub's own schema: the bot's three queries, errors as GitHub words them, loud gaps."""

import pytest

from tests.github.conftest import expect_violation

FRAGMENT = """fragment PR on PullRequest{databaseId number title body state isDraft merged mergedAt
 createdAt updatedAt baseRefName baseRefOid headRefOid headRefName isCrossRepository
 author{__typename login} additions deletions changedFiles repository{nameWithOwner}}"""
WHOLE_ISSUE = (
    """query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){
 databaseId isPrivate defaultBranchRef{name target{oid}}
 config:object(expression:"HEAD:.github/r4p.yml"){... on Blob{oid text byteSize isTruncated}}
 issue(number:$i){databaseId number title body state author{login}
  closedByPullRequestsReferences(first:50,includeClosedPrs:true){
   nodes{...PR} pageInfo{hasNextPage endCursor}}
  timelineItems(first:100,itemTypes:[CROSS_REFERENCED_EVENT,CONNECTED_EVENT,DISCONNECTED_EVENT]){
   nodes{__typename
    ... on CrossReferencedEvent{willCloseTarget isCrossRepository
      source{__typename ... on PullRequest{...PR}}}
    ... on ConnectedEvent{createdAt subject{__typename ... on PullRequest{...PR}}}
    ... on DisconnectedEvent{createdAt subject{__typename ... on PullRequest{number}}}}
   pageInfo{hasNextPage endCursor}}}}}"""
    + FRAGMENT
)
HEADS = """query($o:String!,$n:String!){repository(owner:$o,name:$n){
 p%d:pullRequest(number:%d){number state isDraft headRefOid baseRefOid baseRefName merged}
 issue(number:%d){number state title body}
 thing:issueOrPullRequest(number:%d){__typename ... on PullRequest{number} ... on Issue{number}}}}"""


def names(scene):
    owner, name = scene.repo.full_name.split("/")
    return {"o": owner, "n": name}


def test_one_query_tells_all_about_an_issue(scene):
    issue = scene.repo.open_issue("Bug", "One too many", author="ann")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}", author="bob")
    answer = scene.graphql(WHOLE_ISSUE, **names(scene), i=issue)
    repository = answer["data"]["repository"]
    assert repository["databaseId"] == scene.repo.id
    assert repository["defaultBranchRef"] == {
        "name": "main",
        "target": {"oid": scene.repo.first_sha},
    }
    assert repository["config"]["text"] == "mode: advisory\n"
    assert repository["issue"]["author"] == {"login": "ann"}
    (node,) = repository["issue"]["closedByPullRequestsReferences"]["nodes"]
    (event,) = repository["issue"]["timelineItems"]["nodes"]
    assert event["source"] == {"__typename": "PullRequest"} | node
    assert (node["headRefOid"], node["baseRefOid"]) == (pull.head_sha, pull.base_sha)
    assert (node["additions"], node["deletions"], node["changedFiles"]) == (1, 2, 1)
    assert (node["author"]["login"], node["isCrossRepository"]) == ("bob", True)


def test_heads_are_read_again_by_aliases(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n").number
    head = scene.repo.push(pull, files={"tool/core.py": "x = 2\n"})
    query = HEADS % (pull, pull, issue, pull)
    repository = scene.graphql(query, **names(scene))["data"]["repository"]
    assert repository[f"p{pull}"]["headRefOid"] == head
    assert repository["issue"]["state"] == "OPEN"
    assert repository["thing"] == {"__typename": "PullRequest", "number": pull}


def test_a_merged_pull_request_has_its_own_state(scene):
    pull = scene.fix("x = 1\n").number
    scene.repo.merge(pull)
    query = HEADS % (pull, pull, scene.repo.open_issue("x"), pull)
    shown = scene.graphql(query, **names(scene))["data"]["repository"][f"p{pull}"]
    assert (shown["state"], shown["merged"]) == ("MERGED", True)


def test_a_missing_config_is_null(scene):
    issue = scene.repo.open_issue("Bug")
    scene.repo.commit({".github/r4p.yml": None})
    answer = scene.graphql(WHOLE_ISSUE, **names(scene), i=issue)
    assert answer["data"]["repository"]["config"] is None


@pytest.mark.parametrize("field", ["issue", "pullRequest", "issueOrPullRequest"])
def test_what_does_not_exist_is_null_and_not_found(scene, field):
    query = "query($o:String!,$n:String!){repository(owner:$o,name:$n){%s(number:99){__typename}}}"
    answer = scene.graphql(query % field, **names(scene))
    assert answer["data"]["repository"] == {field: None}
    assert [e["type"] for e in answer["errors"]] == ["NOT_FOUND"]


def test_an_invisible_repository_is_not_found(scene, private):
    query = "query($o:String!,$n:String!){repository(owner:$o,name:$n){id}}"
    answer = scene.graphql(query, **names(private))
    assert answer["data"] == {"repository": None}
    assert answer["errors"][0]["type"] == "NOT_FOUND"


def test_a_pull_request_is_no_issue(scene):
    pull = scene.fix("x = 1\n").number
    query = (
        "query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){issue(number:$i){id}}}"
    )
    assert scene.graphql(query, **names(scene), i=pull)["data"]["repository"]["issue"] is None


def test_a_missing_permission_is_forbidden(private):
    number = private.repo.open_issue("Bug")
    query = (
        "query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){issue(number:$i){id}}}"
    )
    client = private.http(private.token(permissions={"contents": "read"}))
    body = {"query": query, "variables": names(private) | {"i": number}}
    answer = client.post(f"{private.github.url}/api/graphql", json=body).json()
    assert answer["errors"][0]["type"] == "FORBIDDEN"


def test_bots_have_no_brackets_here(scene):
    number = scene.repo.open_issue("Bug", author=scene.app.bot_login)
    query = """query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){
     issue(number:$i){author{__typename login}}} viewer{login}}"""
    data = scene.graphql(query, **names(scene), i=number)["data"]
    assert data["repository"]["issue"]["author"] == {
        "__typename": "Bot",
        "login": scene.app.slug,
    }
    assert data["viewer"]["login"] == scene.app.slug


def test_a_deleted_account_is_null(scene, github):
    number = scene.repo.open_issue("Bug", author="vanishing")
    github.delete_user("vanishing")
    answer = scene.graphql(WHOLE_ISSUE, **names(scene), i=number)
    assert answer["data"]["repository"]["issue"]["author"] is None


PAGED = """query($o:String!,$n:String!,$after:String){repository(owner:$o,name:$n){
 pullRequests(first:2,after:$after){totalCount nodes{number} pageInfo{hasNextPage endCursor}}}}"""


def test_connections_are_walked_by_cursor(scene):
    numbers = [scene.fix(f"x = {n}\n").number for n in range(3)]
    first = scene.graphql(PAGED, **names(scene))["data"]["repository"]["pullRequests"]
    assert first["pageInfo"]["hasNextPage"] is True
    after = first["pageInfo"]["endCursor"]
    second = scene.graphql(PAGED, **names(scene), after=after)["data"]["repository"]["pullRequests"]
    walked = [n["number"] for n in first["nodes"] + second["nodes"]]
    assert (walked, second["pageInfo"]["hasNextPage"], second["totalCount"]) == (numbers, False, 3)


@pytest.mark.parametrize(
    ("argument", "kind"),
    [("", "MISSING_PAGINATION_BOUNDARIES"), ("(first:101)", "EXCESSIVE_PAGINATION")],
)
def test_a_page_must_be_bounded(scene, argument, kind):
    query = "query($o:String!,$n:String!){repository(owner:$o,name:$n){pullRequests%s{totalCount}}}"
    answer = scene.graphql(query % argument, **names(scene))
    assert answer["errors"][0]["type"] == kind


def test_a_field_github_does_not_have_is_a_violation(scene):
    expect_violation("Cannot query field 'nonsense'")
    answer = scene.graphql("{viewer{nonsense}}")
    assert "nonsense" in answer["errors"][0]["message"]


def test_a_field_the_stand_in_does_not_model_is_a_violation(scene):
    expect_violation("does not model GraphQL field Query.licenses")
    answer = scene.graphql("{licenses{key}}")
    assert "does not model" in answer["errors"][0]["message"]


def test_introspection_answers_from_the_schema(scene):
    answer = scene.graphql('{__type(name:"Issue"){name kind}}')
    assert answer["data"] == {"__type": {"name": "Issue", "kind": "OBJECT"}}


def test_nobody_asks_without_a_token(scene):
    body = {"query": "{viewer{login}}"}
    answer = scene.http().post(f"{scene.github.url}/api/graphql", json=body)
    assert answer.status_code in {401, 403}
