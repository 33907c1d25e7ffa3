"""What is said where no language model judged, or nobody could."""

from dataclasses import replace

from app.comments import Finding, write_check_run, write_explanation_reply, write_verdict_comment
from model.domain import Coverage, Tokens, Verdict, VoteCount
from tests.app.comments.views import NOT_JUDGED, build_row, view

WITHOUT_A_MODEL = """\
<!-- r4p:group=17 -->
### R4P verdict (advisory): #12 judged correct; #15 unsure

| PR | Verdict | P(correct) | Commit |
| --- | --- | --- | --- |
| #12 | **Correct** | 81 % | `ccccccc` |
| #15 | **Unsure** | – | `fffffff` |

Probabilities come from the outcomes of 57 earlier issues.

- #12 holds an answer written for a model; no language model read it.
- The bot judged only a part of #15: 1 of 2 files were compared.
- The issue's text held invisible characters; no language model read it.

<details>
<summary>Reasons</summary>

**#12: Correct** (2 of 2 files were compared)

> No model read this patch. Of 1 rival, 1 touches one of its files.

**#15: Unsure** (1 of 2 files were compared)

> No model read this patch. Of 1 rival, 1 touches one of its files.

</details>

<details>
<summary>How the bot judged: without a language model</summary>

No language model read the patches: `consensus` compared features of the group \
(how alike its patches are, their size, what of the issue they touch) by fitted rules `9f3c1a77aa52`. \
Less than a second.

</details>

Right or wrong? Record it with `/r4p agree #N` or `/r4p disagree #N <why>`. \
`/r4p help` lists every command.

<sub>R4P bot judges patches, never people. It does not approve, merge or close. \
*Correct* does not mean *mergeable*. Of agents' patches that pass a benchmark's tests, stronger tests reject about \
20 % (SWE-ABS), and maintainers would merge about half (METR).</sub>

<!-- r4p.verdict/1 {"schema":"r4p.verdict/1","patches":[]} -->
"""


def test_a_verdict_without_a_language_model_reads_like_this():
    why = "No model read this patch. Of 1 rival, 1 touches one of its files."
    tricky = {"findings": (Finding.BOX,)}
    rows = (
        build_row(12, Verdict.CORRECT, VoteCount(), reason=why, probability=0.81, **tricky),
        build_row(15, Verdict.UNSURE, VoteCount(), reason=why, coverage=Coverage(2, 1)),
    )
    told = view(
        *rows,
        verifier="consensus",
        has_model=False,
        asked=0,
        valid=0,
        history=57,
        tokens=Tokens(),
        total_seconds=0.004,
        issue_findings=(Finding.INVISIBLE,),
    )
    assert write_verdict_comment(told) == WITHOUT_A_MODEL


def test_a_comment_without_a_judged_patch_names_no_judge():
    row = build_row(18, Verdict.NOT_JUDGED, VoteCount(), reason="Not judged: the patch is empty")
    comment = write_verdict_comment(view(row, asked=0, valid=0))
    assert "- The bot did not judge #18: the patch is empty." in comment
    assert not [word for word in ("Judged by", "Model", "history", "Agreement") if word in comment]


def test_a_patch_that_was_not_judged_is_explained_by_why_alone():
    assert (
        write_explanation_reply(900, view(NOT_JUDGED), "#18")
        == """\
<!-- r4p:reply=900 -->

#18 could not be judged.

**#18: Not judged** at `1212121`

> the diff is longer than the model can read
"""
    )


def test_an_explanation_without_votes_has_no_agreement():
    row = build_row(12, Verdict.CORRECT, VoteCount(), reason="No model read this patch.")
    assert (
        "**#12: Correct** at `ccccccc`\n\n- Comparison of features, no language model\n"
        "- Not enough history for a probability\n- 2 of 2 files were compared\n\n"
        "> No model read this patch."
    ) in write_explanation_reply(900, view(row, asked=0, has_model=False), "#12")


def test_a_model_that_was_asked_for_no_vote_is_named_without_any():
    row = build_row(12, Verdict.CORRECT, VoteCount())
    comment = write_verdict_comment(view(row, verifier="yes-no", asked=0, valid=0))
    assert "\n| PR | Verdict | Commit |\n" in comment
    assert "because there is no rival. Model `R4P-32B` on vLLM, prompt " in comment


def test_consensus_without_history_says_why_it_claims_nothing():
    why = "Unsure: the score is too close to the middle. Such scores were often wrong for patches with known outcomes."
    unsure = build_row(15, Verdict.UNSURE, VoteCount(), reason="No model read this patch.")
    wrong = build_row(12, Verdict.INCORRECT, VoteCount(), reason="No model read this patch.")
    told = view(wrong, unsure, verifier="consensus", has_model=False, asked=0, valid=0)
    assert f"\n\n{why}\n" in write_verdict_comment(told).partition("<details>")[0]
    assert "No probabilities yet: not enough history." in write_verdict_comment(told)
    assert write_check_run(told, unsure, None).summary.splitlines()[-3] == why
    assert write_explanation_reply(900, told, "#15").endswith(
        f"> No model read this patch.\n\n{why}\n"
    )
    assert why not in write_check_run(told, wrong, None).summary
    for other in (replace(told, rows=(wrong,)), replace(told, history=57), view(unsure)):
        assert why not in write_verdict_comment(other)


def test_packaged_prior_is_named_wherever_a_probability_is():
    unsure = build_row(15, Verdict.UNSURE, VoteCount(), reason="No model read this patch.")
    unsure = replace(unsure, verdict=replace(unsure.verdict, probability=0.31))
    shown = view(unsure, verifier="consensus", has_model=False, asked=0, valid=0, history=388)
    prior = replace(shown, is_packaged_prior=True)
    sentence = (
        "Probabilities are a packaged prior from 388 issues of benchmarks, not from outcomes here."
    )
    assert sentence in write_verdict_comment(prior)
    assert "Probabilities come from the outcomes of 388 earlier issues." in write_verdict_comment(
        shown
    )
    for text in (
        write_check_run(prior, unsure, None).summary,
        write_explanation_reply(900, prior, "#15"),
    ):
        assert "Probability correct: 31 % (packaged prior)" in text.replace(
            "\N{NO-BREAK SPACE}", " "
        )
    assert "packaged prior" not in write_check_run(shown, unsure, None).summary
