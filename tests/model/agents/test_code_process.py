"""The touched definitions are the same when only the touched files are parsed."""

from model.agents.process.code_process import MOST_CHARACTERS, read_touched_code
from model.agents.tools.touched_code import describe_touched_code
from tests.model.agents.builders import open_tool_context
from tests.model.agents.tools.test_touched_code import DIFF, TREE
from tests.model.codegraph.builders import write_files


def test_definitions_are_those_of_a_whole_code_graph(tmp_path):
    diffs = [DIFF.format(2), DIFF.format(3)]
    with open_tool_context(tmp_path / "whole", TREE) as context:
        whole = describe_touched_code(context, diffs, MOST_CHARACTERS)
    write_files(tmp_path / "tree", TREE)
    (tmp_path / "scratch").mkdir()
    (definition,) = read_touched_code(tmp_path / "tree", tmp_path / "scratch", diffs)
    assert definition == whole
    assert "Callers: pie/cut.py: cut\nExisting tests: tests/test_maths.py: test_half" in definition


def test_definitions_together_are_bounded(tmp_path):
    body = "    n = 'long'\n" * (MOST_CHARACTERS // 10)
    write_files(tmp_path / "tree", {"pie/maths.py": f"def half(n):\n{body}"})
    (tmp_path / "scratch").mkdir()
    shown = read_touched_code(tmp_path / "tree", tmp_path / "scratch", [DIFF.format(2)])
    assert sum(map(len, shown)) <= MOST_CHARACTERS
