"""From a run's folder to its page: whole, true to the files, and of use while a run goes on or after it died."""

import re
from dataclasses import replace
from html import unescape

import pytest
import typer
from typer.testing import CliRunner

from tests.builders.models.run_folders import (
    build_comparison,
    build_step,
    decide,
    write_document,
    write_result,
    write_run_folder,
    write_steps,
)
from tests.model.commands.test_report import read_png_size
from tests.model.evaluation.report.test_html_page import parse_page
from training.commands.cli import report
from training.plans.plan_file import load_plan
from training.report.overview import build_page
from training.report.run_reader import read_run
from training.runs.run_folder import RunStatus

app = typer.Typer()
app.command()(report)


def invoke(folder):
    return CliRunner().invoke(app, [str(folder)])


def find_section(report, key):
    (page,) = [one for one in report.sections if one.key == key]
    return page


def list_lines(figure):
    return figure.draw().axes[0].get_lines()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = write_run_folder(tmp_path_factory.mktemp("runs") / "<b>$run$")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    return folder, before, invoke(folder)


def test_finished_run_is_a_page_with_figures(report):
    folder, before, result = report
    assert {name: (folder / name).read_bytes() for name in before} == before
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{folder}/report.html: 40 steps, 12 figures\n"
    figures = sorted(folder.glob("*.png"))
    assert len(figures) == 12
    assert all(read_png_size(one)[0] == 828 and one.stat().st_size > 4_000 for one in figures)
    markup = parse_page((folder / "report.html").read_text())
    assert len(markup.images) == 12
    assert all(image["alt"] for image in markup.images)


def test_page_has_the_numbers_of_the_files_escaped(report):
    folder, *_ = report
    html = (folder / "report.html").read_text()
    assert "<b>$run$" not in html
    text = " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())
    assert "Training run <b>$run$" in text
    assert "The gate said: passed. Passed every check." in text
    assert (
        "benchmark, test: reward 0.500 (0.450 … 0.550) before, 0.620 (0.570 … 0.670) after" in text
    )
    assert (
        "19 issues decided rightly by the candidate alone, 4 by the champion alone "
        "(exact McNemar, two-sided: p = 0.003)" in text
    )
    assert "filters 214 no linked issue; 97 a bot wrote it; 12 only lock files" in text
    assert f"optimiser.learning_rate {load_plan('cpu-smoke').optimiser.learning_rate}" in text
    assert "tokens read and written 300,000" in text
    assert "left out 2 too long" in text


def test_curves_say_where_they_began_and_ended(tmp_path):
    folder = write_run_folder(tmp_path)
    write_steps(folder, [build_step(at, 4, reward=at / 4, entropy=None) for at in range(1, 5)])
    curves = find_section(build_page(read_run(folder)), "curves")
    assert curves.text[0] == "Reward: 0.375 in the first 2 steps, 0.875 in the last 2."
    assert "entropy" not in {one.name for one in curves.figures}
    (reward,) = [one for one in curves.figures if one.name == "reward"]
    (curve,) = list_lines(reward)
    assert curve.get_xydata().tolist() == [[1, 0.25], [2, 0.5], [3, 0.75], [4, 1.0]]


def test_long_curve_has_its_mean_over_ten_steps(tmp_path):
    write_steps(
        write_run_folder(tmp_path), [build_step(at, reward=float(at)) for at in range(1, 31)]
    )
    (reward,) = [
        one
        for one in find_section(build_page(read_run(tmp_path)), "curves").figures
        if one.name == "reward"
    ]
    each, mean = list_lines(reward)
    names = ("reward, each step", "reward, mean of the last 10 steps")
    assert (each.get_label(), mean.get_label()) == names
    assert mean.get_ydata()[[0, -1]] == pytest.approx([1.0, 25.5])


def test_one_step_is_a_curve_of_one_point(tmp_path):
    write_steps(write_run_folder(tmp_path), [build_step(1)])
    curves = find_section(build_page(read_run(tmp_path)), "curves")
    assert (curves.text, curves.missing) == ((), ())


def test_unfinished_run_is_drawn_so_far(tmp_path):
    folder = write_run_folder(tmp_path)
    for name in ("result", "evaluation", "gate", "dataset"):
        (folder / f"{name}.json").unlink()
    (folder / "metrics.jsonl").write_bytes((folder / "metrics.jsonl").read_bytes()[:-9])
    result = invoke(folder)
    assert result.exit_code == 0
    assert "The run has not ended: it is at step 39 of 40." in result.stderr.replace("\n", " ")
    html = (folder / "report.html").read_text()
    assert "Not measured yet." in html
    for name in (
        "gate.json is missing",
        "evaluation.json is missing",
        "dataset.json has no manifest",
    ):
        assert name in html


def test_run_before_its_first_step_has_no_curve(tmp_path):
    folder = write_run_folder(tmp_path)
    for name in ("metrics.jsonl", "result.json"):
        (folder / name).unlink()
    page = build_page(read_run(folder))
    assert page.notes[0].startswith("The run has not ended: no step is done.")
    assert find_section(page, "curves").missing == ("No step was done yet, so there is no curve.",)


def test_failed_run_says_why_first(tmp_path):
    folder = write_run_folder(tmp_path)
    write_steps(folder, [build_step(1), build_step(2, loss=None)])
    write_result(folder, 2, RunStatus.FAILED, "step 2 has the loss nan", left_out=None)
    assert read_run(folder).notes == (
        "The run failed after 2 of 40 steps: step 2 has the loss nan",
    )
    rows = dict(find_section(build_page(read_run(folder)), "run").tables[0].cells)
    assert (rows["status"], "left out" in rows) == ("failed", False)
    (loss,) = [
        one
        for one in find_section(build_page(read_run(folder)), "curves").figures
        if one.name == "loss"
    ]
    (curve,) = list_lines(loss)
    assert len(curve.get_xdata()) == 1


def test_rejected_candidate_shows_the_failed_check(tmp_path):
    worse = build_comparison(gain=-0.2)
    folder = write_run_folder(tmp_path)
    write_document(folder, "gate", decide(worse).document())
    gate = find_section(build_page(read_run(folder)), "gate")
    assert gate.text[0].startswith(
        "The gate said: failed. Benchmark, test: reward no worse: -0.200"
    )
    assert ("benchmark, test: reward improves", "no") in [row[:2] for row in gate.tables[0].cells]


def test_check_that_was_not_needed_is_not_failed(tmp_path):
    folder = write_run_folder(
        tmp_path, sets=(build_comparison(), build_comparison("benchmark, other", issues=3))
    )
    answers = {
        row[0]: row[1] for row in find_section(build_page(read_run(folder)), "gate").tables[0].cells
    }
    assert (answers["outcomes"], answers["benchmark, other: issues"]) == ("not needed",) * 2
    assert answers["leak"] == "yes"


def test_p_value_is_never_zero(tmp_path):
    folder = write_run_folder(tmp_path, sets=(replace(build_comparison(), p_differs=0.0002),))
    assert (
        "two-sided: p < 0.001" in find_section(build_page(read_run(folder)), "comparison").text[-1]
    )


def test_constants_are_columns(tmp_path):
    folder = write_run_folder(tmp_path, sets=(build_comparison(),))
    table = find_section(build_page(read_run(folder)), "comparison").tables[-1]
    assert list(table.head) == ["metric", "all correct", "all incorrect"]
    assert ("reward", "0.500", "0.500") in table.cells


@pytest.mark.parametrize(("clipped", "top"), [(0.0, 0.01), (0.4, 0.4)])
def test_clipped_share_starts_at_zero(tmp_path, clipped, top):
    rows = [build_step(at, clip_low=0.0, clip_high=clipped) for at in range(1, 31)]
    write_steps(write_run_folder(tmp_path), rows)
    figures = find_section(build_page(read_run(tmp_path)), "curves").figures
    (figure,) = [one for one in figures if one.name == "clipped"]
    assert figure.draw().axes[0].get_ylim() == pytest.approx((0, top), rel=0.1)


def test_margin_is_drawn_where_the_gate_has_one(tmp_path):
    folder = write_run_folder(tmp_path)
    run = read_run(folder)
    for gate, labels, places in (
        (run.gate, ["may not fall below: -2"], [0.0, -0.02]),
        ({}, [], [0.0]),
    ):
        (axes,) = (
            find_section(build_page(replace(run, gate=gate)), "comparison").figures[1].draw().axes
        )
        assert axes.get_legend_handles_labels()[1] == labels
        verticals = [line for line in axes.get_lines() if len(line.get_xdata()) == 2]
        assert [line.get_xdata()[0] for line in verticals] == places


def test_missing_metric_is_a_dash(tmp_path):
    one = build_comparison()
    folder = write_run_folder(tmp_path, sets=(one,))
    page = replace(
        one, difference={name: one.difference[name] for name in one.difference if name != "mcc"}
    )
    rows = (
        find_section(build_page(replace(read_run(folder), compared=(page,))), "comparison")
        .tables[0]
        .cells
    )
    assert [row[-2:] for row in rows if row[0] == "mcc"] == [("–", "–")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gate.json", "{", "gate.json can't be read"),
        ("gate.json", "[]", "gate.json holds no object"),
        ("gate.json", '{"findings": [{}]}', "gate.json can't be read"),
        ("evaluation.json", '{"compared": [{"name": 3}]}', "ChampionComparison.name holds 3"),
        ("dataset.json", '{"manifest": {"seed": "x"}}', "Manifest.seed holds 'x'"),
        ("metrics.jsonl", "a note\n", "has a line that is no training step"),
        ("result.json", "{}", "is no run result"),
    ],
)
def test_invalid_file_is_a_usage_error_of_one_line(tmp_path, name, content, message):
    (write_run_folder(tmp_path) / name).write_text(content)
    result = invoke(tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("r4p train report: ")


def test_folder_without_a_run_or_without_write_access_is_a_usage_error(tmp_path):
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "holds no training run; give the --run folder of r4p train run" in result.stderr
    (write_run_folder(tmp_path / "run") / "report.html").mkdir()
    result = invoke(tmp_path / "run")
    assert result.exit_code == 2
    assert "report.html can't be written: Is a directory" in result.stderr
