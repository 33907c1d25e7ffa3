"""Links that the agents' worker plants in the folder of source trees lead nowhere."""

import pytest

from app.values.identifiers import EvaluationId
from worker.git.tree_store import TreeStore


def swap(room, target):
    """What another process with write access to the directory may do at any moment."""
    room.rename(room.with_name("moved-away"))
    room.symlink_to(target)


def test_planted_links_lead_no_write_out_of_the_directory(upstream, git, exports, tmp_path):
    commit = upstream.commit({"a": "1\n"}, ref="refs/heads/main")
    victim, folder = tmp_path / "victim", tmp_path / "folder"
    victim.write_text("precious")
    folder.mkdir()
    with exports.create_folder() as room:
        (room / "tree.tar").symlink_to(victim)
        assert exports.export(git, commit, room).files == 1
    with exports.create_folder() as room:
        (room / "tree").symlink_to(folder)
        with pytest.raises(FileExistsError):
            exports.export(git, commit, room)
    with exports.create_folder() as room:
        swap(room, folder)
        with pytest.raises(NotADirectoryError):
            exports.export(git, commit, room)
    (exports.directory / "lock").unlink()
    (exports.directory / "lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"), exports.create_folder():
        pass
    assert victim.read_text() == "precious"
    assert list(folder.iterdir()) == []


def test_a_planted_link_hands_over_no_foreign_folder(exports, tmp_path):
    (tmp_path / "folder" / "tree").mkdir(parents=True)
    store = TreeStore(exports.directory)
    with exports.create_folder() as room:
        swap(room, tmp_path / "folder")
        with pytest.raises(NotADirectoryError):
            store.offer(room / "tree", EvaluationId(7))
    assert store.find(EvaluationId(7)) is None
