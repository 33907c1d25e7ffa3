"""What is told of patches by our own agent; that the diff offered is the one that git applies."""

import re
import subprocess
from dataclasses import replace
from html import unescape

import pytest

from app.comments import (
    LONGEST_BODY,
    AlternativeView,
    write_check_run,
    write_explanation_reply,
    write_headline,
    write_verdict_comment,
)
from app.policy.alternative_policy import RefusalReason
from model.domain import Coverage, PatchVerdict, Verdict, VoteCount
from tests.app.comments.views import CORRECT, INCORRECT, build_row, render, view

DIFF = """\
diff --git a/sums.py b/sums.py
--- a/sums.py
+++ b/sums.py
@@ -1,2 +1,3 @@
 def add(a, b):
+\t# ```` @mona #3 </details> <!-- -->
-    return a
+    return a + b
"""


def build_alternative(number, verdict=Verdict.CORRECT, votes=(3, 1), **changes):
    patch = PatchVerdict(
        f"A{number}",
        verdict,
        VoteCount(*votes),
        reason=changes.pop("reason", "It sums both."),
        coverage=changes.pop("coverage", Coverage(1, 1)),
        probability=changes.pop("probability", None),
    )
    one = AlternativeView(number, "mini-se", "Coder-7B", 12, "b" * 40, DIFF, patch)
    return replace(one, **changes)


WRONG = build_alternative(2, Verdict.INCORRECT, (0, 4), steps=1, second_to=1)


def write_comment(*alternatives, **changes):
    return write_verdict_comment(view(alternatives=alternatives, **changes))


def test_alternatives_stand_in_the_table_and_are_marked_as_ours():
    table = write_comment(build_alternative(1), WRONG).partition("\n\n- The bot")[0]
    assert (
        table
        == """\
<!-- r4p:group=17 -->
### R4P verdict (advisory): #12 judged correct; #15 not; by the bot: A1 judged correct; A2 not

| Patch | Verdict | Agreement | Commit | Link |
| --- | --- | --- | --- | --- |
| #12 | **Correct** | 4 of 4 | `ccccccc` | closes it |
| #15 | **Incorrect** | 3 of 4 | `fffffff` | closes it |
| A1 | **Correct** | 3 of 4 | on `bbbbbbb` | **the bot**: mini-se, Coder-7B, 12 steps |
| A2 | **Incorrect** | 4 of 4 | on `bbbbbbb` | **the bot**: mini-se, Coder-7B, 1 step, after A1 with feedback |"""
    )


def test_a_comment_says_that_alternatives_are_untested():
    assert (
        "- The bot's own agent wrote A1. It read the code and ran nothing, so A1 is untested.\n"
    ) in write_comment(build_alternative(1))
    judge = view().engine.model
    assert (
        "- The bot's own agent wrote A1 and A2. It read the code and ran nothing, so they are "
        "untested. The same model wrote and judged.\n"
    ) in write_comment(build_alternative(1, model=judge), WRONG)


def test_their_reasons_are_given_like_all_others():
    assert "**A1: Correct** (its one file was read)\n\n> It sums both.\n" in write_comment(
        build_alternative(1)
    )


def test_an_alternative_that_was_not_judged_whole_says_so():
    unread = build_alternative(1, Verdict.NOT_JUDGED, (0, 0), reason="Not judged: too long")
    part = build_alternative(2, coverage=Coverage(3, 2))
    comment = write_comment(unread, part)
    assert (
        "- The bot did not judge A1: too long.\n- The bot judged only a part of A2: 2 of 3 files were read.\n"
        in comment
    )
    assert "**A1: " not in comment


@pytest.mark.parametrize(
    ("rows", "alternatives", "line"),
    [
        ((), (build_alternative(1),), "by the bot: A1 judged correct"),
        (
            (),
            (WRONG, replace(WRONG, number=3)),
            "by the bot: none of 2 alternatives judged correct",
        ),
        (
            (INCORRECT,),
            (build_alternative(1),),
            "#15 judged incorrect; by the bot: A1 judged correct",
        ),
    ],
)
def test_the_headline_keeps_pull_requests_and_ours_apart(rows, alternatives, line):
    assert write_headline(replace(view(), rows=rows, alternatives=alternatives)) == line


def test_a_lone_pull_request_beside_ours_is_not_alone():
    assert "Judged by `r4p` side by side" in write_comment(build_alternative(1), rows=(CORRECT,))


def test_a_wish_that_came_to_nothing_is_told():
    assert (
        "- No alternative: this repository's budget for alternatives is used up for today.\n"
        in write_comment(no_alternative=RefusalReason.BUDGET)
    )
    assert "- No further alternative: the agent made the same edit as a rival.\n" in write_comment(
        build_alternative(1), no_alternative=RefusalReason.SAME
    )


def test_every_reason_has_its_sentence():
    assert all(write_comment(no_alternative=reason) for reason in RefusalReason)


def fold(comment):
    """Summary and what stands below it, as GitHub shows it."""
    return re.search(
        r"<summary>(.*? as a diff.*?)</summary>(.*?)</details>", render(comment), re.DOTALL
    )


def test_the_best_verified_one_is_offered_as_a_diff_that_can_be_applied():
    comment = write_comment(
        build_alternative(1), build_alternative(3, votes=(4, 0), probability=0.84), history=57
    )
    shown = fold(comment)
    assert shown[1] == "A3 as a diff (judged correct, probability correct 84 %; untested)"
    blocks = re.findall(r"<pre[^>]*><code[^>]*>(.*?)</code></pre>", shown[2], re.DOTALL)
    assert unescape(blocks[0]) == "git apply --check A3.diff && git apply A3.diff\n"
    assert f"<code>{'b' * 40}</code>" in shown[2]
    assert comment.count(" as a diff") == 1


def test_the_offered_diff_is_the_judged_one_and_git_applies_it(tmp_path):
    (tmp_path / "sums.py").write_text("def add(a, b):\n    return a\n")
    block = re.findall(
        r"<pre[^>]*><code[^>]*>(.*?)</code></pre>",
        fold(write_comment(build_alternative(1)))[2],
        re.DOTALL,
    )[1]
    assert unescape(block) == DIFF
    (tmp_path / "A1.diff").write_text(unescape(block))
    subprocess.run(["git", "apply", "A1.diff"], cwd=tmp_path, check=True)
    assert (tmp_path / "sums.py").read_text().endswith("return a + b\n")


@pytest.mark.parametrize("verdict", [Verdict.INCORRECT, Verdict.UNSURE, Verdict.NOT_JUDGED])
def test_nothing_is_offered_that_was_not_judged_correct(verdict):
    assert "git apply" not in write_comment(build_alternative(1, verdict))


def test_nothing_is_offered_on_the_demonstration_models_word():
    assert "git apply" not in write_comment(build_alternative(1), is_demonstration=True)


@pytest.mark.parametrize(
    "odd", ["\r", "\u202e", "\u200b", "\x1b", "\0", "\ufeff", "\ufffd", "\u2028"]
)
def test_a_diff_that_would_not_survive_is_not_shown(odd):
    comment = write_comment(build_alternative(1, diff=DIFF.replace("a + b", f"a{odd} + b")))
    assert "\nThe diff of A1 is not shown: it holds characters that copying would change" in comment
    assert "git apply" not in comment
    assert odd not in comment.partition("<summary>Reasons")[0]


@pytest.mark.parametrize("diff", [DIFF, DIFF + "+x\n" * 7_000])
def test_the_command_that_opens_it_is_told_where_it_does_so(diff):
    said = "\n\n`/r4p open A1` opens A1 as a draft pull request.\n"
    assert said in write_comment(build_alternative(1, diff=diff), may_open=True)
    assert "/r4p open" not in write_comment(build_alternative(1, diff=diff))
    assert "/r4p open" not in write_comment(build_alternative(1, Verdict.INCORRECT), may_open=True)


def test_a_diff_that_is_too_long_is_not_shown():
    comment = write_comment(build_alternative(1, diff=DIFF + "+x\n" * 7_000))
    assert (
        f"\nThe diff of A1 is not shown: {len(DIFF) + 21_000:,} characters are too many for this comment.\n"
        in comment
    )


def test_a_comment_that_is_full_leaves_the_diff_out_before_rows():
    many = [
        build_row(n, Verdict.CORRECT, VoteCount(4, 0), reason="because " * 300) for n in range(130)
    ]
    comment = write_verdict_comment(
        view(*many, alternatives=(build_alternative(1, diff=DIFF + "+x\n" * 6_000),))
    )
    assert len(comment) <= LONGEST_BODY
    assert (
        f"The diff of A1 is not shown: {len(DIFF) + 18_000:,} characters are too many for this comment."
        in comment
    )
    assert "#129" in comment


def test_a_hostile_diff_stays_a_text_in_its_block():
    hostile = "+```\n ````\n+</details>\n @mona fixes #3\n+~~~\n `````diff\n"
    comment = write_comment(build_alternative(1, diff=DIFF + hostile))
    rendered = render(comment)
    assert rendered.count("</details>") == 3
    outside = re.sub(r"<code[^>]*>.*?</code>|<!--.*?-->", "", rendered, flags=re.DOTALL)
    assert "@mona fixes" not in outside
    assert "fixes #3" not in outside


def test_names_of_agents_and_models_break_no_table():
    comment = write_comment(build_alternative(1, agent="a|b", model="`x` | @mona </td> #3"))
    line = next(line for line in render(comment).splitlines() if "<strong>the bot" in line)
    assert "a|b" in line
    assert not re.search(r"@mona|#3\b", line)


def test_a_check_counts_ours_among_the_rivals():
    summary = write_check_run(view(alternatives=(build_alternative(1), WRONG)), CORRECT).summary
    assert "Judged by `r4p` beside 1 other pull request and 2 alternatives by the bot." in summary
    lone = write_check_run(view(CORRECT, alternatives=(build_alternative(1),)), CORRECT).summary
    assert "Judged by `r4p` beside 1 alternative by the bot." in lone


def test_only_good_news_of_ours_is_news():
    assert view(CORRECT, alternatives=(build_alternative(1), WRONG)).publishable_verdicts == (
        Verdict.CORRECT,
        Verdict.CORRECT,
    )


def test_an_alternative_is_explained_by_its_name():
    assert (
        write_explanation_reply("900", view(alternatives=(build_alternative(1),)), "A1")
        == """\
<!-- r4p:reply=900 -->

#12 judged correct; #15 not; by the bot: A1 judged correct.

**A1: Correct** on `bbbbbbb`, **the bot**: mini-se, Coder-7B, 12 steps

- 3 of 4 votes agree
- Not enough history for a probability
- Its one file was read

> It sums both.
"""
    )
    assert "A9 is not among the patches compared here: #12, #15 and A1." in write_explanation_reply(
        "900", view(alternatives=(build_alternative(1),)), "A9"
    )
