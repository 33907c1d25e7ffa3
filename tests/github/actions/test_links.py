"""Links between pull requests and an issue: closing references, manual links, mentions."""

from tests.github.conftest import make_scene


def list_closing_pulls(scene, number, *, include_closed="true"):
    field = f"closedByPullRequestsReferences(first:50,includeClosedPrs:{include_closed})"
    answer = scene.ask(
        f"issue(number:$i){{{field}{{nodes{{... on PullRequest{{number}}}}}}}}", i=number
    )
    return [n["number"] for n in answer["issue"]["closedByPullRequestsReferences"]["nodes"]]


def list_closed_issues(scene, number):
    fields = "closingIssuesReferences(first:20){nodes{number repository{nameWithOwner}}}"
    answer = scene.ask(f"pullRequest(number:$i){{{fields}}}", i=number)["pullRequest"]
    nodes = answer["closingIssuesReferences"]["nodes"]
    return [(n["repository"]["nameWithOwner"], n["number"]) for n in nodes]


TIMELINE = """issue(number:$i){
 timelineItems(first:100,itemTypes:[CROSS_REFERENCED_EVENT,CONNECTED_EVENT,DISCONNECTED_EVENT]){
 nodes{__typename
 ... on CrossReferencedEvent{willCloseTarget source{... on PullRequest{number} ... on Issue{number}}}
 ... on ConnectedEvent{subject{... on PullRequest{number}}}
 ... on DisconnectedEvent{subject{... on PullRequest{number}}}}}}"""


def read_timeline(scene, number):
    return scene.ask(TIMELINE, i=number)["issue"]["timelineItems"]["nodes"]


def test_a_keyword_links_both_ways(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}")
    assert list_closing_pulls(scene, issue) == [pull.number]
    assert list_closed_issues(scene, pull.number) == [(scene.repo.full_name, issue)]


def test_a_keyword_on_another_base_links_nothing_until_the_base_changes(scene):
    issue = scene.repo.open_issue("Bug")
    scene.repo.commit({"a": "a\n"}, branch="dev")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}", base="dev")
    assert list_closing_pulls(scene, issue) == []
    assert [e["willCloseTarget"] for e in read_timeline(scene, issue)] == [False]
    scene.repo.edit_pr(pull.number, base="main")
    assert list_closing_pulls(scene, issue) == [pull.number]


def test_editing_the_body_adds_and_removes_the_link(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n")
    scene.repo.edit_pr(pull.number, body=f"Resolves #{issue}")
    assert list_closing_pulls(scene, issue) == [pull.number]
    scene.repo.edit_pr(pull.number, body=f"About #{issue}")
    assert list_closing_pulls(scene, issue) == []


def test_a_link_by_hand_counts_on_any_base_until_it_is_taken_away(scene):
    issue = scene.repo.open_issue("Bug")
    scene.repo.commit({"a": "a\n"}, branch="dev")
    pull = scene.fix("x = 1\n", base="dev")
    scene.repo.link(pull.number, issue)
    assert list_closing_pulls(scene, issue) == [pull.number]
    scene.repo.unlink(pull.number, issue)
    assert list_closing_pulls(scene, issue) == []
    kinds = [(e["__typename"], e["subject"]["number"]) for e in read_timeline(scene, issue)]
    assert kinds == [("ConnectedEvent", pull.number), ("DisconnectedEvent", pull.number)]


def test_a_closed_pull_request_is_listed_only_on_request(scene):
    issue = scene.repo.open_issue("Bug")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}")
    scene.repo.close(pull.number)
    assert list_closing_pulls(scene, issue, include_closed="false") == []
    assert list_closing_pulls(scene, issue) == [pull.number]


def test_any_mention_leaves_one_cross_reference(scene):
    issue = scene.repo.open_issue("Bug")
    outside = scene.repo.open_issue("Related", f"Like #{issue}")
    scene.repo.comment(outside, f"again #{issue}")
    pull = scene.fix("x = 1\n", body=f"Fixes #{issue}")
    shown = [(e["source"]["number"], e["willCloseTarget"]) for e in read_timeline(scene, issue)]
    assert shown == [(outside, False), (pull.number, True)]


def test_a_pull_request_elsewhere_closes_across_repositories(scene, github):
    outside = make_scene(github)
    issue = scene.repo.open_issue("Bug")
    pull = outside.fix("x = 1\n", body=f"Fixes {scene.repo.full_name}#{issue}")
    assert list_closed_issues(outside, pull.number) == [(scene.repo.full_name, issue)]
    (event,) = read_timeline(scene, issue)
    assert event["source"]["number"] == pull.number


def test_links_from_invisible_repositories_stay_invisible(scene, private):
    issue = scene.repo.open_issue("Bug")
    private.fix("x = 1\n", body=f"Fixes {scene.repo.full_name}#{issue}")
    assert list_closing_pulls(scene, issue) == []
    assert read_timeline(scene, issue) == []


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
