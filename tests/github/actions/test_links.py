"""Links between pull requests and an issue: closing references, manual links, mentions."""

from tests.github.conftest import make_scene

CLOSED_BY = """query($o:String!,$n:String!,$i:Int!,$all:Boolean!){repository(owner:$o,name:$n){
 issue(number:$i){closedByPullRequestsReferences(first:50,includeClosedPrs:$all){nodes{number}}}}}"""
CLOSES = """query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){pullRequest(number:$i){
 closingIssuesReferences(first:20){nodes{number repository{nameWithOwner}}}}}}"""
TIMELINE = """query($o:String!,$n:String!,$i:Int!){repository(owner:$o,name:$n){issue(number:$i){
 timelineItems(first:100,itemTypes:[CROSS_REFERENCED_EVENT,CONNECTED_EVENT,DISCONNECTED_EVENT]){
 nodes{__typename
 ... on CrossReferencedEvent{willCloseTarget isCrossRepository
   source{__typename ... on PullRequest{number} ... on Issue{number}}}
 ... on ConnectedEvent{subject{... on PullRequest{number}}}
 ... on DisconnectedEvent{subject{... on PullRequest{number}}}}}}}}"""


def ask(scene, query, number, **more):
    owner, name = scene.repo.full_name.split("/")
    answer = scene.graphql(query, o=owner, n=name, i=number, **more)
    assert "errors" not in answer, answer
    return answer["data"]["repository"]


def closed_by(scene, number, *, closed_too=True):
    answer = ask(scene, CLOSED_BY, number, all=closed_too)["issue"]
    return [n["number"] for n in answer["closedByPullRequestsReferences"]["nodes"]]


def closes(scene, number):
    answer = ask(scene, CLOSES, number)["pullRequest"]["closingIssuesReferences"]["nodes"]
    return [(n["repository"]["nameWithOwner"], n["number"]) for n in answer]


def timeline(scene, number):
    return ask(scene, TIMELINE, number)["issue"]["timelineItems"]["nodes"]


def test_a_keyword_links_both_ways(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}")
    assert closed_by(scene, issue) == [pull.number]
    assert closes(scene, pull.number) == [(scene.repo.full_name, issue)]


def test_a_keyword_on_another_base_links_nothing_until_the_base_changes(scene):
    issue = scene.repo.open_issue("Bug")
    scene.repo.commit({"a": "a\n"}, branch="dev")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}", base="dev")
    assert closed_by(scene, issue) == []
    assert [e["willCloseTarget"] for e in timeline(scene, issue)] == [False]
    scene.repo.edit_pr(pull.number, base="main")
    assert closed_by(scene, issue) == [pull.number]


def test_editing_the_body_adds_and_removes_the_link(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n")
    scene.repo.edit_pr(pull.number, body=f"Resolves #{issue}")
    assert closed_by(scene, issue) == [pull.number]
    scene.repo.edit_pr(pull.number, body=f"About #{issue}")
    assert closed_by(scene, issue) == []


def test_a_link_by_hand_counts_on_any_base_until_it_is_taken_away(scene):
    issue = scene.repo.open_issue("Bug")
    scene.repo.commit({"a": "a\n"}, branch="dev")
    pull = scene.fix("x = 1\n", base="dev")
    scene.repo.link(pull.number, issue)
    assert closed_by(scene, issue) == [pull.number]
    scene.repo.unlink(pull.number, issue)
    assert closed_by(scene, issue) == []
    kinds = [(e["__typename"], e["subject"]["number"]) for e in timeline(scene, issue)]
    assert kinds == [("ConnectedEvent", pull.number), ("DisconnectedEvent", pull.number)]


def test_a_closed_pull_request_is_listed_only_on_request(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}")
    scene.repo.close(pull.number)
    assert closed_by(scene, issue, closed_too=False) == []
    assert closed_by(scene, issue) == [pull.number]


def test_any_mention_leaves_one_cross_reference(scene):
    issue = scene.repo.open_issue("Bug")
    outside = scene.repo.open_issue("Related", f"Like #{issue}")
    scene.repo.comment(outside, f"again #{issue}")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}")
    shown = [(e["source"]["number"], e["willCloseTarget"]) for e in timeline(scene, issue)]
    assert shown == [(outside, False), (pull.number, True)]


def test_a_pull_request_elsewhere_closes_across_repositories(scene, github):
    outside = make_scene(github)
    issue = scene.repo.open_issue("Bug")
    pull = outside.fix("x = 1\n", body=f"Fixes {scene.repo.full_name}#{issue}")
    assert closes(outside, pull.number) == [(scene.repo.full_name, issue)]
    (event,) = timeline(scene, issue)
    assert (event["isCrossRepository"], event["source"]["number"]) == (True, pull.number)


def test_links_from_invisible_repositories_stay_invisible(scene, private):
    issue = scene.repo.open_issue("Bug")
    private.fix("x = 1\n", body=f"Fixes {scene.repo.full_name}#{issue}")
    assert closed_by(scene, issue) == []
    assert timeline(scene, issue) == []


def test_merging_closes_the_issue_only_from_the_default_branch(scene):
    first, second = scene.repo.open_issue("One"), scene.repo.open_issue("Two")
    by_hand = scene.repo.open_issue("Three")
    scene.repo.commit({"a": "a\n"}, branch="dev")
    beside = scene.fix("x = 1\n", body=f"Fixes #{first}", base="dev").number
    scene.repo.link(beside, by_hand)
    scene.repo.merge(beside)
    scene.repo.merge(scene.fix("x = 2\n", body=f"Fixes #{second}").number)
    assert [scene.repo.issue(n).state for n in (first, by_hand, second)] == [
        "open",
        "open",
        "closed",
    ]
