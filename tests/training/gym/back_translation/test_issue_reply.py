"""An issue is read from a reply as it stands, or not at all."""

import pytest

from training.gym.back_translation.issue_reply import (
    MOST_CHARACTERS,
    NoIssue,
    NoIssueReason,
    read_issue,
)

ISSUE = "Doubling is wrong\n\nI call `double(5)`, and get 6 in place of 10.\n"


@pytest.mark.parametrize(
    "reply",
    [
        f"<issue>\n{ISSUE}</issue>",
        f"Here it is:\n<issue>{ISSUE}</issue>\nI hope that this helps.",
        f"<issue>A draft\n\nwithout care.</issue>\nBetter:\n<issue>\n{ISSUE}\n</issue>",
        f"<think>\n<issue>A thought\n\nof it.</issue>\n</think>\n<issue>\n{ISSUE}</issue>",
        f"<issue>\n## {ISSUE}</issue>",
        f"<ISSUE>\nTitle: {ISSUE}</ISSUE>",
        f"<issue>\n**Doubling is wrong**{ISSUE.removeprefix('Doubling is wrong')}</issue>",
        f"<issue>\n{ISSUE}</issue>".replace("\n", "\r\n"),
        f"I write it between <issue> tags.\n<issue>\n{ISSUE}</issue>",
        f"<issue>\nTitle: **Doubling is wrong**{ISSUE.removeprefix('Doubling is wrong')}</issue>",
    ],
    ids=[
        *("alone", "with words", "draft", "thought", "heading", "title", "bold", "line ends"),
        *("tag in words", "bold title"),
    ],
)
def test_the_last_issue_of_a_reply_is_read(reply):
    assert read_issue(reply) == ISSUE


def test_escapes_of_the_prompt_become_characters_again():
    read = read_issue('<issue>Text is lost\n\n`show("⟦U+003C⟧patch-1>")` prints nothing.</issue>')
    assert read == 'Text is lost\n\n`show("<patch-1>")` prints nothing.\n'


@pytest.mark.parametrize(
    "reply",
    [
        "",
        ISSUE,
        "<issue></issue>",
        "<issue>\nOnly a title\n</issue>",
        f"<issue>\n{ISSUE}",
        f"<think>It never ends. <issue>{ISSUE}</issue>",
        f"<issue>{'x' * 201}\n\nThe title is long.</issue>",
        f"<issue>Much text\n\n{'x' * MOST_CHARACTERS}</issue>",
        "<issue>\n**\n\nNo title.</issue>",
    ],
    ids=["nothing", "no tags", "empty", "title", "open", "thought", "long title", "long", "marks"],
)
def test_a_reply_without_a_readable_issue_gives_none(reply):
    with pytest.raises(NoIssue) as caught:
        read_issue(reply)
    assert caught.value.reason is NoIssueReason.NO_ISSUE


@pytest.mark.parametrize(
    "words",
    [
        "The failing test shows it.",
        "Two tests that fail say so.",
        "The test\nfails.",
        "Before this commit, it works.",
        "I wrote a unit test.",
    ],
)
def test_an_issue_that_speaks_of_the_commit_or_its_tests_is_refused(words):
    with pytest.raises(NoIssue) as caught:
        read_issue(f"<issue>{ISSUE}\n{words}</issue>")
    assert caught.value.reason is NoIssueReason.INSIDER


@pytest.mark.parametrize("words", ["`query.test(f)` fails.", "`commit()` writes nothing."])
def test_an_issue_may_use_the_words_of_its_project(words):
    assert words in read_issue(f"<issue>{ISSUE}\n{words}</issue>")
