"""One comment and one check run whatever breaks, at the price of seven calls for four rivals."""

import pytest

from app.github.api.effect_store import EffectKey, EffectState
from app.github.api.graphql_reader import read_heads, read_issue
from app.github.api.publisher import CheckButton, CheckDraft, CommentDraft
from app.github.errors import Ambiguous, Forbidden, NotFound, RateLimited
from app.values.identifiers import CommitSha, IssueNumber
from tests.builders.github.github_scene import MARKER

LOST = ["502_after_effect", "reset_after_effect", "timeout_after_effect", "garbled"]
NEVER_ARRIVED = ["502", "reset", "500", "503", "html"]


def post_comment(scene, issue):
    return f"POST /repos/{scene.repo.full_name}/issues/{issue}/comments"


def posts(scene, since):
    return [
        r.route
        for r in scene.standin.history(since)
        if r.method == "POST" and "graphql" not in r.route and "tokens" not in r.route
    ]


def test_a_verdict_on_four_rivals_costs_seven_calls_and_two_tokens(scene):
    issue = scene.repo.open_issue("Broken")
    scene.rivals(issue, 4)
    mark = scene.standin.mark()
    facts = read_issue(scene.github, scene.issue(issue))
    numbers = [linked.pull.number for linked in facts.pulls]
    heads = read_heads(scene.github, scene.issue(issue), numbers)
    scene.comment(issue)
    for head in heads.pulls:
        scene.check(head.head_sha)
    calls = scene.standin.calls(mark)
    assert (calls.total, calls.tokens) == (7, 2)
    assert [c.body for c in scene.repo.comments(issue)] == [f"{MARKER}\nverdict"]
    assert [c.conclusion for n in numbers for c in scene.repo.check_runs(n)] == ["success"] * 4


def test_an_unchanged_comment_is_not_sent_again(scene):
    issue = scene.repo.open_issue("Broken")
    first = scene.comment(issue)
    mark = scene.standin.mark()
    assert scene.comment(issue) == first
    assert scene.standin.calls(mark).total == 0


def test_a_changed_verdict_is_edited_in_place(scene):
    issue = scene.repo.open_issue("Broken")
    (pull,) = scene.rivals(issue, 1)
    comment, check = scene.comment(issue), scene.check(pull.head_sha)
    mark = scene.standin.mark()
    assert scene.comment(issue, "another verdict") == comment
    assert scene.check(pull.head_sha, "Judged incorrect") == check
    assert scene.standin.calls(mark).total == 2
    assert [c.body for c in scene.repo.comments(issue)] == [f"{MARKER}\nanother verdict"]
    assert [c.title for c in scene.repo.check_runs(pull.number)] == ["Judged incorrect"]


@pytest.mark.parametrize("kind", LOST)
def test_a_comment_whose_answer_was_lost_is_adopted(scene, kind):
    issue = scene.repo.open_issue("Broken")
    mark = scene.standin.mark()
    scene.standin.fault(post_comment(scene, issue), kind, seconds=3)
    with pytest.raises(Ambiguous):
        scene.comment(issue)
    assert scene.effects.history == [EffectState.PLANNED, EffectState.AMBIGUOUS]
    adopted = scene.comment(issue)
    assert [c.id for c in scene.repo.comments(issue)] == [adopted]
    assert len(posts(scene, mark)) == 1
    assert scene.effects.load(scene.key).state is EffectState.CONFIRMED


@pytest.mark.parametrize("kind", NEVER_ARRIVED)
def test_a_comment_that_never_arrived_is_sent_again(scene, kind):
    issue = scene.repo.open_issue("Broken")
    scene.standin.fault(post_comment(scene, issue), kind)
    with pytest.raises(Ambiguous):
        scene.comment(issue)
    assert scene.repo.comments(issue) == []
    scene.comment(issue)
    assert len(scene.repo.comments(issue)) == 1


@pytest.mark.parametrize("kind", LOST + NEVER_ARRIVED)
def test_a_lost_check_run_is_adopted_or_sent_again_beside_others(scene, kind):
    (pull,) = scene.rivals(scene.repo.open_issue("Broken"), 1)
    key = EffectKey(scene.repository, "check:of another run")
    draft = CheckDraft("r4p/verdict", CommitSha(pull.head_sha), "neutral", "Unsure", "Why.")
    first = scene.publisher.check_run(key, draft)
    scene.standin.fault(f"POST /repos/{scene.repo.full_name}/check-runs", kind, seconds=3)
    with pytest.raises(Ambiguous):
        scene.check(pull.head_sha)
    second = scene.check(pull.head_sha)
    assert [run.id for run in scene.repo.check_runs(pull.number)] == [first, second]


@pytest.mark.parametrize("kind", LOST + NEVER_ARRIVED)
def test_a_lost_edit_is_made_again_and_stays_one_comment(scene, kind):
    issue = scene.repo.open_issue("Broken")
    comment = scene.comment(issue)
    scene.standin.fault(f"PATCH /repos/{scene.repo.full_name}/issues/comments/*", kind, seconds=3)
    with pytest.raises(Ambiguous):
        scene.comment(issue, "second")
    # Back to the first text: what GitHub shows is not known, so it is sent all the same.
    assert scene.comment(issue) == comment
    assert [c.body for c in scene.repo.comments(issue)] == [f"{MARKER}\nverdict"]


def test_a_crash_between_plan_and_answer_does_not_double(scene):
    issue = scene.repo.open_issue("Broken")
    first = scene.comment(issue)
    scene.effects.plan(scene.key, "", is_new=True)
    assert scene.comment(issue) == first
    assert len(scene.repo.comments(issue)) == 1


def test_somebody_who_pastes_our_marker_is_not_us(scene):
    issue = scene.repo.open_issue("Broken")
    pasted = scene.repo.comment(issue, f"{MARKER}\nmine now", "mallory")
    scene.effects.plan(scene.key, "")
    ours = scene.comment(issue)
    assert ours != pasted
    bodies = [comment.body for comment in scene.repo.comments(issue)]
    assert bodies == [f"{MARKER}\nmine now", f"{MARKER}\nverdict"]


def test_the_lost_one_is_found_behind_the_first_page(scene):
    issue = scene.repo.open_issue("Broken")
    for n in range(101):
        scene.repo.comment(issue, f"me too {n}")
    scene.standin.fault(post_comment(scene, issue), "502_after_effect")
    with pytest.raises(Ambiguous):
        scene.comment(issue)
    scene.comment(issue)
    assert sum(c.author == scene.app.bot_login for c in scene.repo.comments(issue)) == 1


def test_a_deleted_comment_is_made_anew_on_the_next_change(scene):
    issue = scene.repo.open_issue("Broken")
    first = scene.comment(issue)
    scene.repo.delete_comment(first)
    assert scene.comment(issue) == first
    second = scene.comment(issue, "changed")
    assert [c.id for c in scene.repo.comments(issue)] == [second] != [first]


def test_an_edited_comment_is_written_over_on_the_next_change(scene):
    issue = scene.repo.open_issue("Broken")
    comment = scene.comment(issue)
    scene.repo.edit_comment(comment, "defaced", user="maintainer")
    scene.comment(issue, "changed")
    assert [c.body for c in scene.repo.comments(issue)] == [f"{MARKER}\nchanged"]


def test_a_locked_issue_and_a_deleted_one_are_final(scene):
    locked, deleted = scene.repo.open_issue("A"), scene.repo.open_issue("B")
    scene.repo.lock(locked)
    scene.repo.delete_issue(deleted)
    with pytest.raises(Forbidden, match="lock"):
        scene.comment(locked)
    with pytest.raises(NotFound):
        scene.comment(deleted)


@pytest.mark.parametrize("kind", ["403_secondary", "429", "403_primary"])
def test_a_limit_stops_everything_at_once_and_nothing_is_doubled(scene, kind):
    issue = scene.repo.open_issue("Broken")
    scene.standin.fault(post_comment(scene, issue), kind, seconds=72)
    with pytest.raises(RateLimited):
        scene.comment(issue)
    mark = scene.standin.mark()
    with pytest.raises(RateLimited, match="writes wait"):
        scene.comment(issue)
    assert scene.standin.calls(mark).total == 0
    scene.standin.advance(4_000)
    scene.github.limiter._store.limits.clear()
    scene.comment(issue)
    assert len(scene.repo.comments(issue)) == 1
    meter = scene.standin.meters()[f"installation:{scene.repository.installation}"]
    assert meter.requests_while_blocked == 0


def test_a_reaction_twice_is_one(scene):
    issue = scene.repo.open_issue("Broken")
    asked = scene.repo.comment(issue, "/r4p verify")
    for _ in range(2):
        scene.publisher.react(scene.repository, asked, "eyes")
    assert scene.repo.comments(issue)[0].reactions == (("eyes", scene.app.bot_login),)


def test_buttons_and_details_stand_on_the_check_run(scene):
    (pull,) = scene.rivals(scene.repo.open_issue("Broken"), 1)
    draft = CheckDraft(
        name="r4p/verdict",
        head_sha=CommitSha(pull.head_sha),
        conclusion="neutral",
        title="Unsure",
        summary="Two votes each.",
        details_url="https://bot.example/groups/1",
        actions=(CheckButton("Re-verify", "Judge again", "reverify"),),
    )
    scene.publisher.check_run(scene.key, draft)
    (run,) = scene.repo.check_runs(pull.number)
    assert (run.conclusion, run.title, run.buttons) == (
        "neutral",
        "Unsure",
        {"reverify": "Re-verify"},
    )
    assert (run.details_url, run.external_id) == (draft.details_url, "comment:group:1")


@pytest.mark.parametrize(
    ("body", "marker", "complaint"),
    [
        ("no marker", "<!--x-->", "lacks"),
        ("x", "", "lacks"),
        ("x" * 65_537, "x", "65537 characters"),
    ],
)
def test_a_draft_that_github_or_we_could_not_use_is_refused(body, marker, complaint):
    with pytest.raises(ValueError, match=complaint):
        CommentDraft(IssueNumber(1), body, marker)
