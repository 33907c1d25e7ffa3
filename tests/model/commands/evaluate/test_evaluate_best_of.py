"""`r4p evaluate --best-of` and `--pairs`: other groups of the same file, each judged anew."""

import json
from importlib.resources import files

import jsonschema_rs
import pytest

from tests.model.commands.evaluate.test_evaluate import read_document
from tests.model.evaluation.builders import RIGHT, build_row, format_lines

SCHEMA = json.loads((files("model.evaluation.best_of") / "best_of.schema.json").read_text())


@pytest.fixture
def crowd(tmp_path):
    """Five issues of six candidates, and one of two."""
    rows = [build_row(at, True, *[False] * 5) for at in range(5)] + [build_row(5, False, True)]
    (tmp_path / "groups.jsonl").write_text(format_lines(*rows))


def read_best_of(result):
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    jsonschema_rs.validator_for(SCHEMA).validate(document)
    return document, {point["k"]: point for point in document["points"]}


def test_best_of_is_judged_anew_and_costs_are_said_ahead(run, crowd):
    result = run("--best-of", "1,2,4,16", "--draws", "3", "--votes", "2", "--json")
    document, points = read_best_of(result)
    assert (document["issues"], document["draws"], document["votes"]) == (6, 3, 2)
    assert {k: (p["issues"], p["too_few"], p["sets"]) for k, p in points.items()} == {
        1: (6, 0, 32), 2: (6, 0, 16), 4: (5, 1, 15), 16: (0, 6, 0),
    }  # fmt: skip
    # the script knows the truth, so the choice is the oracle's
    assert points[2]["resolved"] == points[2]["oracle"]
    assert points[4]["random"]["value"] < points[4]["resolved"]["value"]
    assert points[16]["resolved"] == {"value": None, "low": None, "high": None}
    assert points[1]["resolved"]["value"] == pytest.approx((5 / 6 + 1 / 2) / 6, abs=1e-6)
    assert result.stderr.split() == [
        "31",
        "sets",
        "to",
        "judge",
        "(16",
        "of",
        "2,",
        "15",
        "of",
        "4,",
        "0",
        "of",
        "16),",
        "about",
        "62",
        "requests",
        "to",
        "the",
        "engine;",
        "sets",
        "in",
        "the",
        "run",
        "file",
        "are",
        "not",
        "judged",
        "again",
    ]


def test_best_of_is_a_table_that_names_its_section(run, crowd):
    result = run("--best-of", "2,4")
    assert result.exit_code == 0, result.output
    rows = [line.split() for line in result.stdout.splitlines() if line.split()]
    assert rows[0][:4] == ["K", "issues", "too", "few"]
    assert ["2", "6", "0", "21", "0"] in [row[:5] for row in rows]
    assert "(R4P, section 5.2, figure 4); 6 issues, up to 4 draws of each" in result.stdout


def test_best_of_continues_and_never_judges_a_set_twice(run, crowd, tmp_path):
    first, _ = read_best_of(run("--best-of", "2", "--votes", "1", "--json", "--out", "runs"))
    kept = tmp_path / "runs" / "groups.r4p.best-of.jsonl"
    assert len(kept.read_text().splitlines()) == 21
    assert json.loads((tmp_path / "runs" / "groups.r4p.best-of.json").read_text()) == first
    (tmp_path / "rest.jsonl").write_text(format_lines(*[RIGHT | {"repeat": False}] * 20))
    ask = ("--best-of", "2,4", "--votes", "1", "--json", "--out", "runs")
    more, points = read_best_of(run(*ask, script="rest.jsonl"))
    assert more["points"][0] == first["points"][0]
    assert points[4]["sets"] == 20
    assert len(kept.read_text().splitlines()) == 41
    again, _ = read_best_of(run(*ask, script="rest.jsonl"))
    assert again == more


def test_best_of_by_consensus_warns_like_a_measurement(run, crowd):
    result = run("--best-of", "2", "--json", verifier="consensus", script=None)
    document, points = read_best_of(result)
    assert "outside the blocks that were held out" in document["caution"]
    assert points[2]["unknown"] == 0
    assert "about 0 requests" in result.stderr


def test_pairs_are_judged_alone_and_leave_out_trivial_patches(run, tmp_path):
    row, empty = build_row(1, True, False, True), {"patch": "", "resolved": False}
    rows = [row | {"patches": [*row["patches"], empty]}, build_row(2, True, True)]
    (tmp_path / "groups.jsonl").write_text(format_lines(*rows))
    document = read_document(run("--pairs", "--json", "--out", "runs"))
    assert (document["groups"], document["patches"], document["issues"]) == (2, 4, 1)
    assert document["pair_accuracy"]["value"] == 1.0
    assert document["left_out"] == {"patches": 1, "groups": 0}
    assert (tmp_path / "runs" / "groups.pairs.r4p.jsonl").exists()
    every = read_document(run("--pairs", "--keep-trivial", "--json"))
    assert every["groups"] == 4
    assert "left_out" not in every
    shown = run("--pairs")
    assert "pair accuracy is that of R4P, section 5.2, figure 3 (b)" in " ".join(
        shown.stdout.split()
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--best-of", "two"], "--best-of two is no list of numbers"),
        (["--best-of", "9"], "no issue has 9 candidates, the most are 6"),
        (["--best-of", "2", "--pairs"], "--best-of and --pairs ask for different measurements"),
        (["--attack", "--best-of", "2"], "--attack and --best-of ask for different measurements"),
        (["--draws", "2"], "--draws does nothing without --best-of"),
        (["--best-of", "2", "--out", "a.jsonl"], "has to end in .best-of.jsonl"),
    ],
)
def test_wrong_choice_is_a_usage_error(run, crowd, arguments, message):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in " ".join(result.stderr.split())


@pytest.mark.parametrize("verifier", ["r4p", "pointwise", "pairwise", "r4p-two-rounds"])
def test_pairs_measure_every_kind_of_verifier_alike(run, tmp_path, verifier):
    """The script prefers what calls itself right: true twice, a lie once, and said of both once."""
    rows = [build_row(at, True, False) for at in range(4)]
    rows[2]["patches"][0]["resolved"], rows[2]["patches"][1]["resolved"] = False, True
    both = rows[3]["patches"][1]
    both["patch"] = both["patch"].replace("wrong", "right")
    (tmp_path / "groups.jsonl").write_text(format_lines(*rows))
    # the second round has to choose one
    last = {"when": "most likely", "box_containing": ["right 3 0", "right 0", "right 1", "right 2"]}
    script = [last | {"repeat": True}] if verifier == "r4p-two-rounds" else []
    (tmp_path / "script.jsonl").write_text(format_lines(*script, RIGHT))
    document = read_document(run("--pairs", "--json", "--votes", "1", verifier=verifier))
    chosen = 1.0 if verifier == "r4p-two-rounds" else 0.5
    assert document["pair_accuracy"]["value"] == (1 + 1 + 0 + chosen) / 4


def test_pairs_need_a_correct_and_an_incorrect_patch(run, tmp_path):
    (tmp_path / "groups.jsonl").write_text(format_lines(build_row(1, True, True)))
    result = run("--pairs")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "has no group with a correct and an incorrect patch" in " ".join(result.stderr.split())
