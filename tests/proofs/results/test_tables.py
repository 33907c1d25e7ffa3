"""Figures are counted from the rows of a run file, and say what they are of."""

from tests.proofs.results import agents_table, localisation_table
from tests.proofs.results.intervals import mean
from tests.proofs.results.run_file import RunFile


def build_lookup_row(repo, named, entities=2, **values):
    asked = {
        "names": 9, "lookups": 4, "hits": named, "definitions": 12, "named": named, "first_page": named,
        "shown": named, "files": 1,
    }  # fmt: skip
    fit = {"hunks": 1, "placed": 1, "off": 0}
    row = {"repo": repo, "fit": fit, "entities": entities, "unreachable": []}
    return row | {"code": asked, "words": asked} | values


ROWS = [
    build_lookup_row("a/pie", 2),
    build_lookup_row("a/pie", 1),
    build_lookup_row("b/tart", 0),
    build_lookup_row("b/tart", 0, entities=0),
    {"repo": "b/tart", "fit": None, "entities": 0},
]


def test_issues_without_a_tree_or_definition_are_not_measured():
    summary = localisation_table.summary(ROWS)
    whole = summary["all"]
    counts = [whole[key] for key in ("issues", "fitting", "measured", "entities", "unreachable")]
    assert counts == [5, 4, 3, 6, 0]
    assert whole["code"]["named_any"]["value"] == 0.667
    assert whole["code"]["named_all"]["value"] == 0.333
    assert whole["code"]["hits"]["value"] == 1 / 4
    assert summary["a/pie"]["code"]["named_any"] == {"value": 1.0, "low": 1.0, "high": 1.0}


def test_table_has_a_line_per_project_and_for_all():
    table = localisation_table.markdown(localisation_table.summary(ROWS))
    assert table.count("\n| a/pie |") == table.count("\n| all |") == 2
    assert table.count("\n| all, every word |") == 1
    assert "\n| b/tart | 3 | 2 | 2 | 1 | 2 | 0 |\n" in table
    assert "\n| a/pie | 1 (1…1) | .50 (0…1) | " in table


def test_interval_needs_two_issues():
    assert mean([]).value is None
    assert (mean([1.0]).value, mean([1.0]).low) == (1.0, None)
    between = mean([0.0, 1.0] * 20)
    assert 0.3 < between.low < between.value == 0.5 < between.high < 0.7


def build_attempt_row(stop, patch, **values):
    row = {
        "agent": "mini-se", "model": "small", "repo": "a/pie", "stop": stop, "rounds": 4, "malformed": 1, "cut": 0,
        "calls": {"search_tool": 2}, "dropped": {}, "patch": patch, "applies": patch, "replays": True,
        "prompt_tokens": 1000, "cached_tokens": 600, "completion_tokens": 50, "seconds": 9.0,
    }  # fmt: skip
    return row | values


def test_attempts_are_counted_by_agent():
    summary = agents_table.summary(
        [build_attempt_row("submitted", True), build_attempt_row("rounds", False, rounds=8)]
    )
    agent = summary["mini-se"]
    assert agent["rounds"] == {"median": 6, "low": 4, "high": 8}
    assert (agent["malformed"], agent["replies"], agent["patches"], agent["applied"]) == (
        2,
        12,
        1,
        1,
    )
    assert (agent["stops"], agent["calls"]) == ({"submitted": 1, "rounds": 1}, {"search_tool": 4})
    assert "| 2 of 12 (17%) | 0 | submitted 1, rounds 1 | 1 | 1 | 2 | 1,000 (600) | 50 |" in (
        agents_table.markdown(summary)
    )


def test_run_file_continues_where_it_ended(tmp_path):
    path = tmp_path / "runs" / "file.jsonl"
    RunFile(path, "agent", "instance").add({"agent": "a", "instance": "1", "n": 3})
    with path.open("a") as end:
        end.write('{"agent": "a", "inst')
    again = RunFile(path, "agent", "instance")
    assert again.has("a", "1")
    assert not again.has("a", "2")
    again.add({"agent": "a", "instance": "2", "n": 4})
    assert [row["n"] for row in RunFile(path, "agent", "instance").rows] == [3, 4]
