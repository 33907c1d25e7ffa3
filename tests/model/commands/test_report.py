"""`r4p report`: from a folder of run files to a page and its figures."""

import json
import re
import struct
from dataclasses import asdict, replace
from html import unescape

import pytest
import typer
from typer.testing import CliRunner

from model.commands.report import report
from model.evaluation.evaluation_document import build_document
from model.evaluation.judged_group import dump_line
from model.evaluation.report.content import format_cells
from model.evaluation.report.series import read_estimate
from tests.model.evaluation.attacks.test_attack_table import build_rates
from tests.model.evaluation.report.builders import build_run, write_run

app = typer.Typer()
app.command()(report)

HALF = b'{"key":{"group":"ha'


def invoke(folder):
    return CliRunner().invoke(app, [str(folder)])


def read_png_size(png):
    """Width and height that a PNG file says it has."""
    content = png.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", content[16:24])


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """A report of three verifiers on two sets, one repository called as only a stranger would."""
    folder = tmp_path_factory.mktemp("runs")
    odd = build_run(votes=3, repo="$\\frac{<b>$/x")
    write_run(folder / "first.r4p.jsonl", odd)
    write_run(folder / "first.pointwise.jsonl", build_run("pointwise", votes=3))
    write_run(
        folder / "second.consensus.jsonl", build_run("consensus"), build_run("consensus-strict")
    )
    (folder / "first.r4p.json").write_text("{}")
    return folder, odd, invoke(folder)


def test_output_names_the_page_and_counts_figures(report):
    folder, _, result = report
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == f"{folder}/report.html: 3 run files, 25 figures\n"


def test_every_figure_is_a_png_file(report):
    folder, *_ = report
    figures = sorted(folder.glob("*.png"))
    assert len(figures) == 25
    for figure in figures:
        width, height = read_png_size(figure)
        assert width == 828
        assert height > 200
        assert figure.stat().st_size > 4_000
    assert (folder / "accuracy-first.png").exists()
    assert (folder / "order-first.png").exists()
    assert not (folder / "order-second.png").exists()


def test_page_has_the_numbers_of_the_document(report):
    folder, judged, _ = report
    html = unescape((folder / "report.html").read_text())
    told = build_document(judged)
    rows = re.findall(r'<th scope="row">r4p</th>((?:<td>[^<]*</td>){6})</tr>', html)
    tables = ("coverage_at_90", "auroc", "ece"), ("accuracy", "f1", "exact_match")
    for row, shown in zip(rows[:2], tables, strict=True):
        assert re.findall(r"<td>([^<]*)</td>", row) == [
            cell for name in shown for cell in format_cells(read_estimate(told, name))
        ]
    assert "consensus, consensus-strict on second: no votes are cast" in html
    assert "second, consensus: 8 of 8 groups lie outside the blocks that were held out" in html
    assert "first, r4p: " not in html


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "it has no .jsonl file. Write run files there with: r4p evaluate --out"),
        ({"a.r4p.jsonl": b""}, "a.r4p.jsonl holds no judged group yet"),
        ({"a.r4p.jsonl": HALF}, "a.r4p.jsonl: the last line is half written"),
        ({"notes.jsonl": b"a note\n"}, "notes.jsonl, line 1 is no judged group"),
        ({"notes.jsonl": b"a note"}, "notes.jsonl is no run file"),
        ({"notes.jsonl": b"\xff\xfe\x00"}, "notes.jsonl is no run file"),
        ({"groups.jsonl": b'{"instance_id": "a"}\n'}, "line 1 is no judged group (key: Field"),
    ],
)
def test_folder_without_runs_is_a_usage_error_of_one_line(tmp_path, files, message):
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    result = invoke(tmp_path)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("r4p report: ")
    assert not (tmp_path / "report.html").exists()


def test_wrong_folder_or_file_is_a_usage_error(tmp_path):
    for path in (tmp_path / "nowhere", write_run(tmp_path / "a.r4p.jsonl", build_run(issues=1))):
        result = invoke(path)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is no folder; give the --out folder of r4p evaluate" in result.stderr
    write_run(tmp_path / "a.r4p.jsonl", build_run(issues=1))
    (tmp_path / "b.r4p.jsonl").write_text("{}\n")
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "b.r4p.jsonl, line 1 is no judged group" in result.stderr
    (tmp_path / "b.r4p.jsonl").unlink()
    (tmp_path / "report.html").mkdir()
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "report.html can't be written: Is a directory" in result.stderr


def test_killed_run_is_reported_with_a_note(tmp_path):
    whole = build_run(issues=3)
    path = write_run(tmp_path / "a.r4p.jsonl", whole[:2])
    path.write_bytes(path.read_bytes() + dump_line(whole[2])[:200])
    (tmp_path / "b.r4p.jsonl").write_bytes(b"")
    before = path.read_bytes()
    result = invoke(tmp_path)
    assert result.exit_code == 0
    assert "a.r4p.jsonl: the last line is half written, and was left out." in result.stderr
    html = (tmp_path / "report.html").read_text()
    assert "a.r4p.jsonl: the last line is half written, and was left out." in html
    assert "b.r4p.jsonl holds no judged group yet, and was left out." in html
    assert "2 issues, 2 groups, 8 patches" in html
    assert path.read_bytes() == before


def test_unjudged_groups_still_make_a_page(tmp_path):
    alone = [
        replace(one, patches=(replace(one.patches[0], score=None, edited_lines=None),))
        for one in build_run(issues=1)
    ]
    write_run(tmp_path / "a.r4p.jsonl", [replace(one, similarity=None) for one in alone])
    result = invoke(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")


def write_attack_run(folder, **changed):
    """An attack run in the folder, whose groups would spoil every figure."""
    write_run(folder / "a.r4p.attack.jsonl", build_run(issues=5, seed=1))
    document = {
        "schema": "r4p.attack/1",
        "verifier": "r4p",
        "engine": {"name": "local_transformers", "model": "<b>tiny", "prompt_fingerprint": "f0"},
        "votes": 3,
        "issues": 5,
        "kinds": {
            name: asdict(build_rates(flips_in_favour=flips))
            for name, flips in (("boxes", 0), ("structural", 4), ("all", 5))
        },
        "flips": [],
    }
    (folder / "a.r4p.attack.json").write_text(json.dumps(document | changed))


def test_attacks_are_a_section_of_their_own(tmp_path):
    write_run(tmp_path / "a.r4p.jsonl", build_run(issues=3))
    without = invoke(tmp_path)
    before = (tmp_path / "report.html").read_text()
    write_attack_run(tmp_path)
    result = invoke(tmp_path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == without.stdout.replace("1 run file,", "2 run files,")
    html = (tmp_path / "report.html").read_text()
    assert "Attacks" not in before
    section = html[html.index('<section aria-labelledby="attacks">') :]
    assert "a: r4p with &lt;b&gt;tiny, 3 votes; 5 issues." in section
    assert re.findall(r'<th scope="row">([^<]*)</th><td>9</td><td>([^<]*)', section) == [
        ("structural", "4 of 5"), ("boxes", "0 of 5"), ("all", "5 of 5"),
    ]  # fmt: skip
    link = '<li><a href="#attacks">Attacks</a></li>\n'
    assert html.replace(section, "").replace(link, "") == before[: before.index("</main>")]


def test_unfinished_attacks_are_left_out_with_a_note(tmp_path):
    write_run(tmp_path / "a.r4p.jsonl", build_run(issues=1))
    write_run(tmp_path / "a.r4p.attack.jsonl", build_run(issues=2))
    result = invoke(tmp_path)
    assert result.exit_code == 0
    assert "a.r4p.attack.jsonl: its attacks have not all been judged" in result.stderr
    assert 'id="attacks"' not in (tmp_path / "report.html").read_text()


def test_attacks_alone_or_an_invalid_document_are_usage_errors(tmp_path):
    write_attack_run(tmp_path)
    assert "it has no .jsonl file but of attacks." in invoke(tmp_path).stderr
    write_run(tmp_path / "a.r4p.jsonl", build_run(issues=1))
    write_attack_run(tmp_path, schema="r4p.evaluate/1")
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert "a.r4p.attack.json is no r4p.attack/1 document" in result.stderr
    (tmp_path / "a.r4p.attack.json").unlink()
    (tmp_path / "a.r4p.attack.json").mkdir()
    assert "a.r4p.attack.json can't be read: Is a directory" in invoke(tmp_path).stderr
