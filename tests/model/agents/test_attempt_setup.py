"""The digest of a tree covers its paths and their content."""

from model.agents.attempt_setup import compute_tree_digest
from tests.model.agents.builders import CODE, TREE, open_tool_context


def test_a_tree_is_its_paths_and_what_is_there(tmp_path):
    def tree(name, files):
        with open_tool_context(tmp_path / name, files) as context:
            return context.tree

    first = tree("one", TREE)
    assert len(first) == 64
    assert tree("two", TREE) == first
    assert tree("three", TREE | {"pie/maths.py": CODE + "\n"}) != first
    assert tree("four", TREE | {"pie/more.txt": ""}) != first
    assert compute_tree_digest({"a": "b", "c": "d"}) == compute_tree_digest({"c": "d", "a": "b"})
    assert compute_tree_digest({"a": "bc"}) != compute_tree_digest({"ab": "c"})
