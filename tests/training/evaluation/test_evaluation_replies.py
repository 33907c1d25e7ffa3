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


def diff(text):
    return f"--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+{text}\n"


GROUP = TrainingGroup(
    "k",
    "octo/cat#1",
    "octo/cat",
    "It fails\n\nWhen empty.",
    (diff("good"), diff("bad"), diff("perhaps"), ""),
    (1.0, 0.0, 0.25, None),
)
FIRST, SECOND, THIRD = (PatchId(f"candidate-{number}") for number in (1, 2, 3))


def vote(correct, seats=(FIRST, SECOND, THIRD, None), **more):
    return Vote(1, seats, None if correct is None else frozenset(correct), "", **more)


def said(*votes):
    patches = tuple(
        PatchVerdict(one, Verdict.UNSURE, VoteCount(), "", Coverage(1, 1), score=score)
        for one, score in ((FIRST, 0.75), (SECOND, None), (THIRD, 0.5))
    )
    return GroupVerdict(
        patches=patches,
        engine=EngineInfo("e", "m", "p"),
        votes=votes,
        asked=len(votes),
        partition=(),
        tokens=Tokens(),
        engine_seconds=0.0,
        total_seconds=0.0,
    )


def test_a_verifier_is_asked_as_the_bot_asks_it():
    verifier = catalog.load_verifier(
        "r4p", ScriptedEngine([ScriptLine(box_containing=("good",), repeat=True)])
    )
    told = []
    (heard,) = collect_replies(
        verifier, [GROUP], ReplySettings(votes=3, concurrency=2), lambda: told.append(1)
    )
    assert heard.beliefs == (1.0, 0.0, 0.0, None)
    assert (heard.asked, heard.valid, told) == (3, 3, [1])
    # 1 for the first, 1 for the second, 0.75 for the third
    assert heard.rewards == (2.75 / 3,) * 3


def test_padding_is_left_to_the_verifier():
    assert list_occupied_seats(GROUP) == [0, 1, 2]
    assert (build_issue(GROUP).title, build_issue(GROUP).body) == ("It fails", "When empty.")


def test_a_reply_that_cannot_be_read_earns_nothing_and_one_that_never_came_is_left_out():
    heard = score_verdict(
        GROUP,
        said(
            vote([FIRST]),
            vote(None, failure="no box"),
            vote([FIRST], forced=True),
            vote(None, failure="the engine failed: it broke off"),
        ),
    )
    assert heard.rewards == (2.75 / 3, 0.0, 0.0)
    assert (heard.asked, heard.valid) == (3, 1)
    assert heard.beliefs == (0.75, None, 0.5, None)


def test_a_vote_counts_for_those_that_it_was_shown():
    heard = score_verdict(GROUP, said(vote([SECOND], seats=(SECOND, None))))
    assert heard.rewards == (0.0,)


def test_a_vote_on_patches_that_nobody_knows_about_is_worth_nothing_known():
    heard = score_verdict(GROUP, said(vote([], seats=(None, None))))
    assert (heard.rewards, heard.asked) == ((), 1)
