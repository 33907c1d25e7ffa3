"""The sections on pairs and on re-judged Best@K show the figures of their documents beside the paper's."""

import json
from dataclasses import replace

import pytest
import typer
from typer.testing import CliRunner

from model.commands.report import report
from model.domain import EngineInfo
from model.evaluation.best_of.best_of_document import DOCUMENT_ADAPTER, BestOfDocument, BestOfPoint
from model.evaluation.bootstrap import Estimate
from model.evaluation.evaluation_document import build_document
from model.evaluation.gyms.suite_worth import TestSetWorth
from model.evaluation.report.content import format_cells
from model.evaluation.report.sections.best_of import build_best_of_section
from model.evaluation.report.sections.pairs import build_pairs_section
from model.evaluation.report.sections.tests import build_tests_section, has_tests
from model.evaluation.report.series import read_estimate
from tests.model.evaluation.builders import make_judged_group
from tests.model.evaluation.report.builders import build_run, build_set, list_rows, write_run

app = typer.Typer()
app.command()(report)

ONE, HALF, NONE = Estimate(1.0, 0.9, 1.0), Estimate(0.5, 0.4, 0.6), Estimate(None, None, None)
DOCUMENT = BestOfDocument(
    "r4p.best-of/1",
    "r4p-two-rounds",
    EngineInfo("scripted", "tiny", "f0"),
    1,
    20,
    4,
    (
        BestOfPoint(2, 20, 0, 79, 1, HALF, HALF, ONE, Estimate(0.0, -0.1, 0.1)),
        BestOfPoint(16, 0, 20, 0, 0, NONE, NONE, NONE, NONE),
    ),
)


def test_pairs_of_groups_and_pairs_alone_are_told_apart():
    judged = build_run()
    rows = {row[0]: row[1:] for row in list_rows(build_pairs_section(build_set(judged)))}
    labels = [[patch.resolved for patch in group.patches] for group in judged]
    pairs = sum(sum(each) * (len(each) - sum(each)) for each in labels)
    value = read_estimate(build_document(judged), "pair_accuracy")
    assert rows["r4p"] == ("within groups", str(pairs), *format_cells(value))
    assert rows["R4P (paper)"] == ("alone", "–", "0.698", "–")
    assert rows["coin"] == ("–", "–", "0.500", "–")
    alone = [make_judged_group(f"o-{at}", (0.9, True), (at / 10, False)) for at in range(10)]
    made = build_pairs_section(build_set(alone))
    assert list_rows(made)[0][:4] == ("r4p", "alone", "10", "0.950")  # 9 of 10 right, one tie
    assert "figure 3 (b)" in made.text[0]
    (figure,) = made.figures
    (axes,) = figure.draw().axes
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["R4P: 69.8%"]


def test_tests_that_ran_have_a_table_of_their_rates():
    judged = [
        replace(group, tests=(TestSetWorth("regression", 10, (), ("t",), distinguish=1 + at % 2),))
        for at, group in enumerate(build_run("regression"))
    ]
    assert not has_tests(build_set(build_run()))
    assert has_tests(build_set(judged))
    ((name, kind, groups, tests, rate, _, toxic, _),) = list_rows(
        build_tests_section(build_set(judged))
    )
    assert (name, kind, groups, tests) == ("regression", "regression", "8", "80")
    assert (rate, toxic) == ("0.150", "0.100")


def test_boxes_of_a_pair_give_the_same_accuracy_by_patches_and_by_ranks():
    """With one vote, both readings of figure 3 (b) agree: a box of both or of neither is half right."""
    boxes = [(1.0, 0.0), (0.0, 0.0), (1.0, 1.0), (0.0, 1.0)]
    judged = [
        make_judged_group(f"o-{at}", (right, True), (wrong, False))
        for at, (right, wrong) in enumerate(boxes)
    ]
    document = build_document(judged)
    assert document["pair_accuracy"]["value"] == document["accuracy"]["value"] == 0.5


def test_set_without_pairs_says_so():
    made = build_pairs_section(build_set([make_judged_group("a", (0.9, True), (0.1, True))]))
    assert made.missing == ("s: no group has a correct and an incorrect patch.",)
    assert made.tables == ()


def test_best_of_shows_every_k_and_draws_the_measured_ones():
    made = build_best_of_section([("a", DOCUMENT)])
    assert list_rows(made) == (
        ("2", "20", "0", "79", "1", "0.500", "0.400 … 0.600", "0.500", "1.000", "0.000", "-0.100 … 0.100"),
        ("16", "0", "20", "0", "0", "–", "–", "–", "–", "–", "–"),
    )  # fmt: skip
    assert "26.2 %" in " ".join(made.text)
    assert "32.8 %" in " ".join(made.text)
    (figure,) = made.figures
    (axes,) = figure.draw().axes
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["2"]
    warned = build_best_of_section([("a", replace(DOCUMENT, caution="Seen in training. " * 9))])
    assert warned.text[-1] == "a: " + "Seen in training. " * 9
    assert "r4p-two-rounds with tiny, 1 vote; 20 issues, up to 4 draws of each." in figure.caption


@pytest.mark.parametrize("beside", [False, True])
def test_report_has_a_section_of_a_best_of_run(tmp_path, beside):
    if beside:
        write_run(tmp_path / "a.r4p.jsonl", build_run(issues=3))
    write_run(tmp_path / "a.r4p-two-rounds.best-of.jsonl", build_run(issues=2))
    (tmp_path / "a.r4p-two-rounds.best-of.json").write_bytes(DOCUMENT_ADAPTER.dump_json(DOCUMENT))
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert (result.exit_code, result.stderr) == (0, "")
    html = (tmp_path / "report.html").read_text()
    assert 'id="best-of"' in html
    assert ('id="accuracy"' in html) is beside
    assert (tmp_path / "best-of-1.png").exists()


def test_unfinished_or_invalid_best_of_run_is_named(tmp_path):
    write_run(tmp_path / "a.r4p.jsonl", build_run(issues=1))
    kept = write_run(tmp_path / "a.r4p.best-of.jsonl", build_run(issues=1))
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 0
    assert "a.r4p.best-of.jsonl: its sets have not all been judged" in result.stderr
    kept.with_suffix(".json").write_text(json.dumps({"schema": "r4p.evaluate/1"}))
    result = CliRunner().invoke(app, [str(tmp_path)])
    assert result.exit_code == 2
    assert "a.r4p.best-of.json is no r4p.best-of/1 document" in result.stderr
