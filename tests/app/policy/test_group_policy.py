from dataclasses import replace

import pytest

from app.policy.group_policy import (
    CandidateFacts,
    EvaluateNow,
    LeftOutPull,
    Publication,
    WaitForMore,
    plan_publication,
    select_judgeable,
    should_evaluate,
)
from app.settings.repo_config import Comments, JudgeFrom, Mode, RepoConfig, TriggerKind
from model.domain import Verdict

CONFIG = RepoConfig(version=1)
TWELVE = CandidateFacts(12, "mona", is_open=True, is_draft=False, paths=("src/a.py",))
THIRTEEN = replace(TWELVE, number=13, author="hubot")


def decide(
    candidates=(TWELVE, THIRTEEN),
    trigger="pull_request",
    *,
    issue_is_open=True,
    alternatives=0,
    **config,
):
    chosen = CONFIG.model_copy(update=config)
    return should_evaluate(
        chosen, candidates, trigger, issue_is_open=issue_is_open, alternatives=alternatives
    )


def test_two_open_pull_requests_are_judged():
    assert decide() == EvaluateNow((12, 13), ())


@pytest.mark.parametrize("trigger", ["pull_request", "issue", "moved_head", "reconcile"])
def test_without_the_trigger_only_a_command_starts_anything(trigger):
    only_commands = {"triggers": (TriggerKind.COMMAND,)}
    assert decide(trigger=trigger, **only_commands) == WaitForMore(
        "`triggers` in this repository's settings does not list `pull_request`"
    )
    assert decide(trigger="command", **only_commands) == EvaluateNow((12, 13), ())


def test_commands_can_be_switched_off_too():
    assert decide(trigger="command", triggers=(TriggerKind.PULL_REQUEST,)) == WaitForMore(
        "`triggers` in this repository's settings does not list `command`"
    )


def test_a_closed_issue_waits_even_for_a_command():
    assert decide(trigger="command", issue_is_open=False) == WaitForMore("the issue is closed")


@pytest.mark.parametrize(
    ("candidates", "least", "reason"),
    [
        ((), 2, "the bot can judge no pull request and needs 2"),
        ((TWELVE,), 2, "the bot can judge one pull request and needs 2"),
        ((TWELVE, THIRTEEN), 3, "the bot can judge 2 pull requests and needs 3"),
    ],
)
def test_too_few_candidates_wait(candidates, least, reason):
    assert decide(candidates, min_candidates=least) == WaitForMore(reason)


@pytest.mark.parametrize(
    ("judge_from", "facts", "is_left_out"),
    [
        (JudgeFrom.EVERYONE, {}, False),
        (JudgeFrom.CONTRIBUTORS, {}, True),
        (JudgeFrom.CONTRIBUTORS, {"association": "FIRST_TIME_CONTRIBUTOR"}, True),
        (JudgeFrom.CONTRIBUTORS, {"association": "CONTRIBUTOR"}, False),
        (JudgeFrom.CONTRIBUTORS, {"is_approved": True}, False),
        (JudgeFrom.APPROVED, {"association": "OWNER"}, True),
        (JudgeFrom.APPROVED, {"is_approved": True}, False),
    ],
)
def test_judge_from_leaves_out_who_is_not_approved_and_a_command_judges_all(
    judge_from, facts, is_left_out
):
    candidates = (TWELVE, replace(THIRTEEN, **facts))
    trusted = (replace(TWELVE, is_approved=True), candidates[1])
    waits = (LeftOutPull(13, "it waits for `/r4p ok`"),) if is_left_out else ()
    judged = (12,) if is_left_out else (12, 13)
    assert decide(trusted, judge_from=judge_from, min_candidates=1) == EvaluateNow(judged, waits)
    assert decide(candidates, trigger="command", judge_from=judge_from) == EvaluateNow((12, 13), ())


def test_a_group_that_waits_for_approval_says_so():
    wait = decide(judge_from=JudgeFrom.APPROVED)
    assert wait.reason == "the bot can judge no pull request and needs 2; not approved: #12, #13"


def test_a_command_needs_one_candidate_only():
    assert decide((TWELVE,), trigger="command") == EvaluateNow((12,), ())
    assert decide((), trigger="command") == WaitForMore(
        "the bot can judge no pull request and needs 1"
    )


def test_beside_alternatives_one_pull_request_is_enough_and_for_a_command_none():
    assert decide((TWELVE,), alternatives=1, min_candidates=3) == EvaluateNow((12,), ())
    assert decide((), alternatives=3) == WaitForMore(
        "the bot can judge no pull request and needs 1"
    )
    assert decide((), trigger="command", alternatives=1) == EvaluateNow((), ())


def test_judgeable_pull_requests_exclude_drafts():
    draft = replace(TWELVE, number=14, is_draft=True)
    assert select_judgeable(CONFIG, (TWELVE, draft, THIRTEEN), commanded=False) == (12, 13)


@pytest.mark.parametrize(
    ("change", "config", "reason"),
    [
        ({"is_open": False}, {}, "it is not open"),
        ({"is_draft": True}, {}, "it is a draft"),
        (
            {"author": "Renovate[bot]"},
            {"ignore_authors": ("renovate[bot]",)},
            "its author is listed in `ignore_authors`",
        ),
        (
            {"paths": ("docs/a.md",)},
            {"paths": ("src/**", "*.toml")},
            "it touches none of the configured `paths`",
        ),
    ],
)
def test_a_pull_request_that_is_left_out_says_why(change, config, reason):
    outsider = replace(TWELVE, number=14, **change)
    assert decide((TWELVE, THIRTEEN, outsider), **config) == EvaluateNow(
        (12, 13), (LeftOutPull(14, reason),)
    )
    waiting = decide((TWELVE, outsider), **config)
    assert waiting.left_out == (LeftOutPull(14, reason),)


CLAIM = (Verdict.CORRECT, Verdict.UNSURE)
NO_CLAIM = (Verdict.UNSURE, Verdict.NOT_JUDGED)


@pytest.mark.parametrize(
    ("mode", "comments", "verdicts", "comment"),
    [
        (Mode.ADVISORY, Comments.ALL, NO_CLAIM, True),
        (Mode.ADVISORY, Comments.OUTCOMES, NO_CLAIM, False),
        (Mode.ADVISORY, Comments.OUTCOMES, CLAIM, True),
        (Mode.ENFORCE, Comments.OUTCOMES, (Verdict.INCORRECT,), True),
        (Mode.ENFORCE, Comments.NONE, CLAIM, False),
    ],
)
def test_the_comment_follows_the_setting_and_the_checks_always_come(
    mode, comments, verdicts, comment
):
    config = CONFIG.model_copy(update={"mode": mode, "comments": comments})
    assert plan_publication(config, "pull_request", verdicts) == Publication(comment, checks=True)
    assert plan_publication(config, "command", verdicts) == Publication(comment=True, checks=True)


def test_in_shadow_only_a_question_is_answered():
    config = CONFIG.model_copy(update={"mode": Mode.SHADOW, "comments": Comments.ALL})
    assert plan_publication(config, "pull_request", CLAIM) == Publication(
        comment=False, checks=False
    )
    assert plan_publication(config, "command", CLAIM) == Publication(comment=True, checks=False)
