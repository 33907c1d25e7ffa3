"""The summary and the outputs of `r4p verify` on patches from files."""

import json

import pytest
from typer.testing import CliRunner

from app.cli import main
from tests.model.builders import build_diff


@pytest.fixture
def judge(tmp_path, monkeypatch):
    """Judge two patches by a script that finds the first one right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "issue.md").write_text("# It <b>breaks</b> | @all\n")
    for name in "ab":
        (tmp_path / f"{name}.diff").write_text(build_diff(f"solution {name}"))
    line = {"reply": "Seen.", "box_containing": ["solution a"], "repeat": True}
    (tmp_path / "script.jsonl").write_text(json.dumps(line))

    def run(*arguments):
        given = ["verify", "--issue", "issue.md", "a.diff", "b.diff"]
        return CliRunner().invoke(main, [*given, *arguments])

    return run


def test_summary_and_outputs_name_the_winner(judge, tmp_path):
    (tmp_path / "outputs").write_text("earlier=1\n")
    files = ["--summary", "summary.md", "--outputs", "outputs"]
    result = judge("--script", "script.jsonl", *files)
    assert result.exit_code == 0, result.output
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("### R4P: It \\<b\\>breaks\\</b\\> \\| @\u200ball\n")
    assert "\n\n**a.diff judged correct; b.diff not**\n\n" in summary
    assert "\n| a.diff | **correct** | – | 1.00 | 3 | 0 | 1 of 1 |\n" in summary
    assert "Verifier r4p with the model script; 3 of 3 votes were readable." in summary
    outputs = (tmp_path / "outputs").read_text().splitlines()
    assert outputs[0] == "earlier=1"
    assert outputs[2:] == ['winners=["a.diff"]', "result=correct"]
    assert json.loads(outputs[1].removeprefix("verdict="))["schema"] == "r4p.verdict/1"


def test_consensus_names_the_source_of_its_probabilities(judge, tmp_path):
    (tmp_path / "b.diff").write_text(build_diff("solution b", path="other.py"))
    assert judge("--summary", "summary.md").exit_code == 4
    summary = (tmp_path / "summary.md").read_text()
    assert "\n| patch | verdict | probability | score | files seen |\n" in summary
    assert summary.rstrip().endswith("benchmark issues (packaged prior).")
    assert "\nVerifier consensus. Probabilities rest on the outcomes of " in summary


def test_two_copies_of_one_edit_are_not_judged_and_promise_nothing(judge, tmp_path):
    (tmp_path / "b.diff").write_text((tmp_path / "a.diff").read_text())
    assert judge("--summary", "summary.md", "--outputs", "outputs").exit_code == 4
    outputs = (tmp_path / "outputs").read_text().splitlines()
    assert outputs[1:] == ["winners=[]", "result=nothing_judged"]
    assert (tmp_path / "summary.md").read_text().endswith("\nVerifier consensus.\n")


@pytest.mark.parametrize("option", ["--event", "--token-file"])
def test_options_about_github_need_a_repository(judge, option):
    result = judge(option, "x")
    assert result.exit_code == 2
    assert result.stderr == f"r4p verify: {option} does nothing without --repo; leave it out\n"


def test_issue_is_asked_for():
    result = CliRunner().invoke(main, ["verify", "a.diff"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "r4p verify: there is no issue; give --issue FILE\n"
