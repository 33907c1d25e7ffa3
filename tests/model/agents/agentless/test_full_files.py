"""Whole files for a prompt: as many as fit, and a reason for every other."""

from model.agents.agentless.full_files import load_fitting_files
from model.workspace import TreeLimits, Workspace
from tests.model.codegraph.builders import write_files


def count_characters(text):
    return len(text)


def test_files_are_shown_in_order_while_they_fit(tmp_path):
    files = {"a.py": "a" * 100, "b.py": "b" * 200, "c.py": "c" * 50, "d.py": "d" * 9_000}
    write_files(tmp_path, files)
    with Workspace.open(tmp_path) as workspace:
        shown = load_fitting_files(
            workspace, ["a.py", "b.py", "c.py", "d.py"], 250, count_characters
        )
        assert shown.texts == {"a.py": "a" * 100, "c.py": "c" * 50}
        assert shown.left_out == {
            "b.py": "it needs about 232 tokens, and 118 are left",
            "d.py": "it needs about 257 tokens, and 36 are left",
        }
        none = load_fitting_files(workspace, ["a.py"], -7, count_characters)
        assert none.left_out == {"a.py": "it needs about 34 tokens, and 0 are left"}


def test_unreadable_file_is_left_out_with_the_reason(tmp_path):
    write_files(tmp_path, {"data.py": "a\0b", "large.py": "x" * 101, "fine.py": "x = 1\r\n"})
    (tmp_path / "latin.py").write_bytes(b"# caf\xe9\n")
    (tmp_path / "link.py").symlink_to("fine.py")
    asked = ["data.py", "large.py", "gone.py", "link.py", "../x.py", "latin.py", "fine.py"]
    with Workspace.open(tmp_path, TreeLimits(file_bytes=100)) as workspace:
        shown = load_fitting_files(workspace, asked, 10_000, count_characters)
    assert shown.texts == {"latin.py": "# caf\udce9\n", "fine.py": "x = 1\r\n"}
    assert list(shown.left_out) == asked[:5]
    assert shown.left_out["data.py"] == "it is not text"
    assert all(shown.left_out.values())


def test_edited_file_is_shown_as_edited(tmp_path):
    write_files(tmp_path, {"a.py": "x = 1\n"})
    with Workspace.open(tmp_path) as workspace:
        workspace.write("a.py", b"x = 2\n")
        assert load_fitting_files(workspace, ["a.py"], 99, count_characters).texts == {
            "a.py": "x = 2\n"
        }
