"""The page of a group shows its evidence as text: columns, notes, sources, grounds of each patch and its checklist."""

import json
import re
from dataclasses import replace
from html import unescape

import pytest
from sqlalchemy import text

from app.web.pages import track_record
from model import typed_json
from model.coverage import ShownCode
from model.domain import (
    CiResult,
    CiState,
    GradedLine,
    RegressionResult,
    ReproductionResult,
    RubricKind,
    RubricLine,
    RubricMark,
    Verdict,
)
from model.verdict_json import PACKAGED
from tests.app.web.pages.test_group_evidence import KEPT, LINES, build_document, build_patch, read
from tests.builders.history import judged_group

pytestmark = pytest.mark.services
HOSTILE = "t.py::<img src=x onerror=alert(1)>[\"'&] @mona #7 \u202egnp"
CHANGE = """
update evaluations set verdict = cast(verdict as jsonb) || cast(:document as jsonb)
where group_id = (select id from groups where repository_id = :repository)
"""


@pytest.fixture
def show(pages):
    """Returns the page of the judged group, whose document has these values in place of its own, as HTML."""

    def show_document(rows, **parts):
        document = json.dumps(build_document(*rows, **parts))
        values = {"document": document, "repository": pages.cat.id}
        with pages.owner.begin() as connection:
            connection.execute(text(CHANGE), values)
        answer = pages.sign_in("mona").get("/r/octo/cat/issues/3")
        assert answer.status_code == 200, answer.text
        return answer.text

    return show_document


def test_the_page_shows_columns_notes_sources_grounds_and_checklist(show):
    rows = (
        build_patch(12, regression=KEPT, reproduction=ReproductionResult(1, 1)),
        build_patch(
            15,
            rubric=LINES,
            regression=RegressionResult(812, 1, ("t.py::test_a",), rewritten=1),
            ci=CiResult(CiState.FAILED, 2, 1, ("lint",)),
        ),
        build_patch(17, unknown="the run took longer than 60 s"),
    )
    likely = replace(rows[0], verdict=replace(rows[0].verdict, probability=0.83))
    rows = (likely, *rows[1:])
    html = show(rows, calibrator={"issues": 388, "origin": PACKAGED})
    evidence = read(*rows, calibrator={"issues": 388, "origin": PACKAGED})
    assert re.findall(r'<th scope="col">([^<]*)</th>', html)[5:9] == list(evidence.columns)
    plain = unescape(html)
    for sentence in (*evidence.notes, *evidence.sources):
        assert plain.count(f">{sentence}<") == 1
    for name, grounds in evidence.patches.items():
        card = plain[plain.index(f">{name} <span", plain.index('id="patches"')) :]
        card = card[: card.index("</article>")]
        assert re.findall(r"<li>([^<]+?)\s*<", card) == [*grounds.facts, *grounds.checklist]
    row = re.search(
        r'<tr>\s*<th scope="row" class="firm"><a [^>]*>#15</a>.*?</tr>', html, re.DOTALL
    )
    cells = re.findall(r'<td class="firm">([^<]*)</td>', row[0])
    assert cells[-4:] == ["1 of 812", "–", "fails", "1 of 3"]
    assert "packaged prior from 388 issues of benchmarks" in plain
    assert "earlier issues" not in plain


def test_without_evidence_the_page_says_so_and_has_no_column(show):
    html = show([build_patch(number) for number in (12, 15, 17)])
    assert "No tests, no CI and no checklist say anything about these patches." in html
    assert "Broken tests" not in html


def test_names_and_reasons_of_strangers_are_escaped(show):
    graded = GradedLine(RubricLine(RubricKind.RUNTIME, 1, HOSTILE), RubricMark.NOT_MET, HOSTILE)
    rows = (
        build_patch(
            12,
            rubric=(graded,),
            regression=RegressionResult(2, 1, (HOSTILE,)),
            ci=CiResult(CiState.FAILED, 1, 1, (HOSTILE,)),
        ),
        build_patch(15, unknown=HOSTILE, reproduction_unknown=HOSTILE),
        build_patch(17),
    )
    html = show(rows, code=typed_json.dump(ShownCode(missing=HOSTILE)))
    assert (
        html.count("&lt;img src=x onerror=alert(1)&gt;[&#34;&#39;&amp;] @mona #7 \ufffdgnp") == 11
    )
    for raw in ("<img", "\u202e"):
        assert raw not in html


def test_patches_with_the_best_verdict_come_first_and_keep_their_diffs(pages):
    rivals = {
        number: (
            f"author-{number}",
            Verdict.CORRECT if number == 49 else Verdict.INCORRECT,
            0.5,
            judged_group.diff_of(f"return {number}"),
        )
        for number in range(40, 50)
    }
    with pages.owner.begin() as connection:
        judged_group.save_group(connection, pages.cat.id, 9, "Ten patches", rivals)
    html = pages.sign_in("mona").get("/r/octo/cat/issues/9").text
    assert re.findall(r'id="patch-\d+">(#\d+)', html) == ["#49", *(f"#{n}" for n in range(40, 47))]
    assert "No patch could be read" not in html
    plain = unescape(re.sub("<[^>]+>", "", html))
    assert "return 49" in plain
    assert "return 47" not in plain


def read_probabilities(html):
    """The cells of the column of probabilities, as text, from the top."""
    cells = re.findall(r'<td class="firm"><meter.*?</td>', html, re.DOTALL)
    return [" ".join(re.sub("<[^>]+>", "", cell).split()) for cell in cells]


def test_a_probability_has_the_results_of_patches_like_it_beside_it(pages, monkeypatch):
    monkeypatch.setattr(track_record, "_CACHE", track_record.RecordCache())
    with pages.owner.begin() as connection:
        judged_group.save_results(connection, pages.cat.id)
    html = pages.sign_in("mona").get("/r/octo/cat/issues/3").text
    assert read_probabilities(html) == [
        "93 % (6 of 6 such: 61 % to 100 %)",
        "8 % (1 of 6 such: 3 % to 56 %)",
        "52 % (4 of 6 such: 30 % to 90 %)",
    ]
    assert "have no interval" not in html


def test_the_patches_of_the_same_issue_are_not_counted(pages, monkeypatch):
    monkeypatch.setattr(track_record, "_CACHE", track_record.RecordCache())
    with pages.owner.begin() as connection:
        judged_group.save_results(connection, pages.cat.id)
    html = pages.sign_in("mona").get("/r/octo/cat/issues/1009").text
    assert read_probabilities(html) == ["95 % (5 of 5 such: 57 % to 100 %)"]
    assert "count other patches of this repository" in html
    assert "earlier patches" not in html


OTHER_JUDGES = {
    "verifier": """verdict = jsonb_set(verdict, '{verifier}', '"yes-no"')""",
    "engine": """verdict = jsonb_set(verdict, '{engine,name}', '"local_vllm"')""",
    "model": """verdict = jsonb_set(verdict, '{engine,model}', '"qwen-7b"')""",
    "prompt": """verdict = jsonb_set(verdict, '{engine,prompt_fingerprint}', '"111111111111"')""",
}


@pytest.mark.parametrize("change", OTHER_JUDGES.values(), ids=OTHER_JUDGES)
def test_patches_of_another_judge_are_not_counted(pages, monkeypatch, change):
    monkeypatch.setattr(track_record, "_CACHE", track_record.RecordCache())
    with pages.owner.begin() as connection:
        judged_group.save_results(connection, pages.cat.id)
        past = "group_id in (select id from groups where issue_number >= 1000)"
        connection.execute(text(f"update evaluations set {change} where {past}"))
    html = pages.sign_in("mona").get("/r/octo/cat/issues/3").text
    assert read_probabilities(html) == ["93 %", "8 %", "52 %"]


def test_a_probability_without_results_has_no_interval(pages, monkeypatch):
    monkeypatch.setattr(track_record, "_CACHE", track_record.RecordCache())
    html = pages.sign_in("mona").get("/r/octo/cat/issues/3").text
    assert read_probabilities(html) == ["93 %", "8 %", "52 %"]
    assert "so the probabilities have no interval" in html
    assert "3 of 3 correct" in html
    assert "(44 % to 100 %)" in html


def test_patch_without_a_place_beside_the_others_keeps_its_row_and_its_grounds(pages):
    rivals = {
        number: (f"author-{number}", Verdict.CORRECT, 0.9, judged_group.diff_of(f"return {number}"))
        for number in range(40, 50)
    }
    with pages.owner.begin() as connection:
        judged_group.save_group(connection, pages.cat.id, 9, "Ten patches", rivals)
    html = pages.sign_in("mona").get("/r/octo/cat/issues/9").text
    assert html.count('<article class="patch"') == 8
    assert len(re.findall(r'<th scope="row" class="firm"><a ', html)) == 10
    assert html.count("<details>") == 2
    assert html.count("Tests: breaks none of 812 tests that pass on the base") == 10
    assert html.count("<option value=") == 11
    assert "return 47" in unescape(re.sub("<[^>]+>", "", html))
    assert "return 48" not in unescape(re.sub("<[^>]+>", "", html))
