import re
from dataclasses import replace

import pytest

from app.comments import LONGEST_BODY, Finding, write_verdict_comment
from app.policy.group_policy import LeftOutPull
from app.policy.rival_links import LinkStrength
from app.settings.repo_config import Mode
from model.coverage import ShownCode
from model.domain import Coverage, Verdict, VoteCount
from tests.app.comments.views import CORRECT, INCORRECT, NOT_JUDGED, UNSURE, build_row, render, view


def with_probability(row, value):
    return replace(row, verdict=replace(row.verdict, probability=value))


def test_a_plain_verdict_reads_like_this():
    assert (
        write_verdict_comment(
            view(replace(CORRECT, title="Read empty lists", author="mona"), INCORRECT)
        ).replace("\u200b", "|")
        == """\
<!-- r4p:group=17 -->
### R4P verdict (advisory): #12 judged correct; #15 not

| PR | Verdict | Agreement | Commit |
| --- | --- | --- | --- |
| #12 Read empty lists · mona | **Correct** | 4 of 4 | `ccccccc` |
| #15 | **Incorrect** | 3 of 4 | `fffffff` |

<details>
<summary>Reasons in the model's own words</summary>

**#12: Correct** (2 of 2 files were read)

> It handles `[]` before the loop.

**#15: Incorrect** (2 of 2 files were read)

> It returns early, so @|mona's case #|7 fails.

</details>

<details>
<summary>How the bot judged: by a language model</summary>

Judged by `r4p` side by side: 4 votes, each in another order. \
Model `R4P-32B` on vLLM, prompt `9f3c1a77aa52`. No probabilities yet: not enough history. 42 s, 30,100 tokens.

</details>

Right or wrong? Record it with `/r4p agree #N` or `/r4p disagree #N <why>`. \
`/r4p help` lists every command.

<sub>R4P bot judges patches, never people. It does not approve, merge or close. \
*Correct* does not mean *mergeable*. Of agents' patches that pass a benchmark's tests, stronger tests reject about \
20 % (SWE-ABS), and maintainers would merge about half (METR).</sub>

<!-- r4p.verdict/1 {"schema":"r4p.verdict/1","patches":[]} -->
"""
    )


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        (ShownCode(1), "The model saw 1 definition of the base that the patches touch."),
        (ShownCode(3), "The model saw 3 definitions of the base that the patches touch."),
        (ShownCode(), "The model saw no definition of the base that the patches touch."),
        (
            ShownCode(missing="no tree of `@mona`"),
            "The model saw no code of the base, because no tree of",
        ),
    ],
    ids=["one", "several", "none touched", "unknown"],
)
def test_method_says_which_code_the_model_saw(code, sentence):
    comment = write_verdict_comment(view(code=code))
    assert f"prompt `9f3c1a77aa52`. {sentence}" in comment
    assert "@mona" not in comment.partition("How the bot judged")[2]
    assert "The model saw" not in write_verdict_comment(view())


@pytest.fixture
def eventful():
    """A verdict of which there is everything to tell, without the reasons."""
    rows = (
        with_probability(CORRECT, 0.94),
        replace(INCORRECT, moved=True),
        replace(
            UNSURE,
            strength=LinkStrength.KEYWORD,
            findings=(Finding.INVISIBLE, Finding.BOX, Finding.BOX),
            verdict=replace(UNSURE.verdict, coverage=Coverage(5, 3)),
        ),
        NOT_JUDGED,
    )
    told = view(
        *rows,
        asked=5,
        parts=2,
        mode=Mode.ENFORCE,
        is_demonstration=True,
        issue_findings=(Finding.HTML_COMMENT,),
        history=57,
        left_out=(LeftOutPull(20, "it is a draft"),),
        all_links_read=False,
    )
    return write_verdict_comment(told).partition("<details>")[0]


def test_a_verdict_that_is_hard_to_rely_on_says_so_before_its_table(eventful):
    assert (
        eventful.partition("- #15")[0].replace("\N{NO-BREAK SPACE}", "~")
        == """\
<!-- r4p:group=17 -->
### R4P verdict: #12 judged correct; #15 judged incorrect; #16 unsure; #18 not judged

> [!WARNING]
> Judged by the small demonstration model, which shows how the bot works. \
Its verdicts are no better than guesses. Don't act on them.

| PR | Verdict | Agreement | P(correct) | Commit | Link |
| --- | --- | --- | --- | --- | --- |
| #12 | **Correct** | 4 of 4 | 94 % | `ccccccc` | closes it |
| #15 | **Incorrect** | 3 of 4 | – | `fffffff`, changed since | closes it |
| #16 | **Unsure** | 2 : 2 | – | `1010101` | keyword, other base |
| #18 | **Not~judged** | – | – | `1212121` | closes it |

Probabilities come from the outcomes of 57 earlier issues.

"""
    )


def test_everything_worth_knowing_is_noted_below_the_table(eventful):
    assert (
        eventful[eventful.index("- #15") :]
        == """\
- #15 has new commits. Its verdict is only about `fffffff`; the bot will judge the new commits.
- The bot judged only a part of #16: 3 of 5 files were read.
- #16 holds invisible characters and an answer written for a model; \
the model saw them marked as such.
- The bot did not judge #18: the diff is longer than the model can read.
- The issue's text held hidden HTML comments; the model read the text without it.
- #20 is left out: it is a draft.
- The bot did not read all links of this issue, because it has more than 250 closing references or 500 mentions. \
If a pull request is missing here, add it with `/r4p group add #N`.

"""
    )


def test_method_is_folded():
    comment = write_verdict_comment(view(CORRECT, INCORRECT, asked=5, parts=2))
    _, _, folded = comment.partition("<summary>How the bot judged: by a language model</summary>")
    assert (
        "Judged by `r4p` in 2 overlapping groups: 5 votes, each in another order (1 unreadable). "
        "Model `R4P-32B` on vLLM, prompt `9f3c1a77aa52`."
    ) in folded


def test_method_names_a_shipped_prompt():
    comment = write_verdict_comment(view(prompt="r4p_group_v2"))
    assert "on vLLM, prompt `r4p_group_v2` (`9f3c1a77aa52`)." in comment


def test_a_lone_patch_is_said_to_have_had_no_rival():
    comment = write_verdict_comment(view(CORRECT, asked=1, valid=1))
    assert "Judged by `r4p` alone, because there is no rival: 1 vote. Model" in comment


def test_history_without_an_opinion_gives_no_probability():
    comment = write_verdict_comment(view(history=57))
    assert "No probabilities: no patch was judged in full." in comment


def test_without_any_judged_patch_there_are_no_reasons():
    assert "<details>" not in write_verdict_comment(view(NOT_JUDGED))


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "1 %"), (0.004, "1 %"), (0.5, "50 %"), (0.999, "99 %"), (1.0, "99 %")],
)
def test_no_probability_claims_certainty(value, shown):
    assert f"| {shown} |" in write_verdict_comment(view(with_probability(CORRECT, value)))


def test_a_vote_that_could_not_be_read_counts_for_neither_side():
    row = build_row(12, Verdict.CORRECT, VoteCount(correct=3, incorrect=0, none=1))
    assert "| 3 of 3 |" in write_verdict_comment(view(row))


def test_an_unsure_patch_without_a_vote_has_no_agreement():
    row = build_row(12, Verdict.UNSURE, VoteCount(none=4), coverage=Coverage(1, 1))
    comment = write_verdict_comment(view(row, valid=0))
    assert "| **Unsure** | – |" in comment
    assert "(its one file was read)" in comment


def test_votes_that_were_lost_or_had_to_be_asked_for_are_said():
    row = build_row(12, Verdict.UNSURE, VoteCount(1, 1, 2), coverage=Coverage(1, 1))
    comment = write_verdict_comment(view(row, valid=2, forced=1))
    assert "(2 unreadable, 1 answered only after a second request)" in comment


def test_a_comment_says_which_files_were_not_read():
    row = build_row(12, Verdict.UNSURE, VoteCount(2, 2), coverage=Coverage(1, 0))
    assert "judged only a part of #12: its one file was not read." in write_verdict_comment(
        view(row)
    )


def test_equal_verdicts_are_told_in_equal_words():
    assert write_verdict_comment(view()) == write_verdict_comment(view())


def crowd(count, reason):
    return [
        build_row(n, Verdict.CORRECT, VoteCount(4, 0), reason=reason) for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    ("count", "reason", "notice"),
    [
        (20, "because " * 300, None),
        (60, "because " * 300, "Reasons are shortened, because"),
        (
            130,
            "because " * 300,
            "Reasons are shortened and the machine-readable verdict is left out, because",
        ),
        (
            900,
            "because " * 300,
            "Only the first 30 of 900 pull requests are listed, without reasons, because",
        ),
    ],
    ids=["whole", "short reasons", "no document", "few rows"],
)
def test_a_comment_that_would_be_too_long_says_what_it_leaves_out(count, reason, notice):
    comment = write_verdict_comment(view(*crowd(count, reason)))
    assert len(comment) <= LONGEST_BODY
    assert ("because GitHub limits" in comment) is bool(notice)
    assert notice is None or notice in comment
    assert ("r4p.verdict/1" in comment) == (count <= 60)


def test_the_worst_comment_still_fits():
    worst = build_row(
        1,
        Verdict.NOT_JUDGED,
        VoteCount(),
        reason="@" * 5_000,
        moved=True,
        findings=tuple(Finding),
    )
    many = tuple(LeftOutPull(n, "#" * 5_000) for n in range(100))
    comment = write_verdict_comment(
        view(*[worst] * 5_000, left_out=many, document={"x": "y" * 100_000}, is_demonstration=True)
    )
    assert len(comment.encode("utf-16-le")) // 2 <= LONGEST_BODY
    assert "80 more are left out." in comment


def test_hostile_reasons_and_names_stay_words():
    row = build_row(
        12,
        Verdict.CORRECT,
        VoteCount(4, 0),
        reason="</details>\n@mona fixes #3 ![x](https://evil.example)\n--> `a`\n\n> quote",
    )
    engine = replace(view().engine, name="<b>@mona</b>", model="`x` @mona", prompt_fingerprint="`")
    rendered = render(write_verdict_comment(view(row, engine=engine)))
    assert rendered.count("</details>") == 2
    assert "<img" not in rendered
    assert "<b>" not in rendered
    assert "<a " not in rendered
    outside_code = re.sub(r"<code>.*?</code>|<!--.*?-->", "", rendered, flags=re.DOTALL)
    assert not re.search(r"@\w", outside_code)
    assert not re.search(r"#3\b", outside_code)


def test_a_broken_configuration_is_told_beside_the_verdict():
    row = build_row(12, Verdict.CORRECT, VoteCount(4, 0))
    comment = write_verdict_comment(view(row, config_problem="line 2: unknown key `x`"))
    assert (
        "- The bot can't use `.github/r4p.yml` and keeps the last good settings: line 2" in comment
    )
