from model import catalog
from model.domain import (
    Coverage,
    EngineInfo,
    GroupVerdict,
    PatchId,
    PatchVerdict,
    Tokens,
    Verdict,
    Vote,
    VoteCount,
)
from model.engines.scripted import ScriptedEngine, ScriptLine
from training.datasets.groups import TrainingGroup
from training.evaluation.evaluation_replies import (
    ReplySettings,
    build_issue,
    collect_replies,
    list_occupied_seats,
    score_verdict,
)


def build_diff(text):
    return f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+{text}\n"


GROUP = TrainingGroup(
    "k",
    "octo/cat#1",
    "octo/cat",
    "It fails\n\nWhen empty.",
    (build_diff("good"), build_diff("bad"), build_diff("perhaps"), ""),
    (1.0, 0.0, 0.25, None),
)
FIRST, SECOND, THIRD = (PatchId(f"candidate-{number}") for number in (1, 2, 3))


def build_vote(correct, seats=(FIRST, SECOND, THIRD, None), **more):
    return Vote(1, seats, None if correct is None else frozenset(correct), "", **more)


def build_verdict(*votes):
    patches = tuple(
        PatchVerdict(one, Verdict.UNSURE, VoteCount(), "", Coverage(1, 1), score=score)
        for one, score in ((FIRST, 0.75), (SECOND, None), (THIRD, 0.5))
    )
    engine = EngineInfo("e", "m", "p")
    return GroupVerdict(patches, engine, votes, len(votes), (), Tokens(), 0.0, 0.0)


def test_verifier_is_asked_as_by_the_bot():
    verifier = catalog.load_verifier(
        "r4p", ScriptedEngine([ScriptLine(box_containing=("good",), repeat=True)])
    )
    progress = []
    (replies,) = collect_replies(
        verifier, [GROUP], ReplySettings(votes=3, concurrency=2), lambda: progress.append(1)
    )
    assert replies.beliefs == (1.0, 0.0, 0.0, None)
    assert (replies.asked, replies.valid, progress) == (3, 3, [1])
    # 1 for the first, 1 for the second, 0.75 for the third
    assert replies.rewards == (2.75 / 3,) * 3


def test_padding_seats_are_left_out():
    assert list_occupied_seats(GROUP) == [0, 1, 2]
    assert (build_issue(GROUP).title, build_issue(GROUP).body) == ("It fails", "When empty.")


def test_unreadable_reply_earns_nothing_and_a_missing_one_is_left_out():
    replies = score_verdict(
        GROUP,
        build_verdict(
            build_vote([FIRST]),
            build_vote(None, failure="no box"),
            build_vote([FIRST], forced=True),
            build_vote(None, failure="the engine failed: it broke off"),
        ),
    )
    assert replies.rewards == (2.75 / 3, 0.0, 0.0)
    assert (replies.asked, replies.valid) == (3, 1)
    assert replies.beliefs == (0.75, None, 0.5, None)


def test_vote_counts_for_its_seats():
    replies = score_verdict(GROUP, build_verdict(build_vote([SECOND], seats=(SECOND, None))))
    assert replies.rewards == (0.0,)


def test_vote_on_unknown_patches_has_no_reward():
    replies = score_verdict(GROUP, build_verdict(build_vote([], seats=(None, None))))
    assert (replies.rewards, replies.asked) == ((), 1)
