"""Parts of limited size: cut, checked, joined in any order, and nothing kept of a damaged one."""

import json
import sys

import pytest

from tests.training.gpu_proof import rehearsal
from training.gpu_proof import bundle
from training.gpu_proof.bundle import BadPart, Cut

LIMIT = 600_000


def write_files(folder):
    """Three files: 100 bytes, 700,000 bytes, none."""
    folder.mkdir()
    sizes = {"small.txt": 100, "deep/large.bin": 700_000, "empty": 0}
    files = {}
    for number, (path, size) in enumerate(sizes.items()):
        files[path] = folder / f"{number}"
        files[path].write_bytes(bytes(index % 251 for index in range(size)))
    return files


@pytest.fixture
def parts(tmp_path):
    bundle.write_parts(write_files(tmp_path / "files"), tmp_path / "parts", LIMIT)
    return sorted((tmp_path / "parts").iterdir())


def test_files_are_cut_where_a_part_is_full():
    """By hand: 4 of 10 free for a, 6 left; b has 9 and fits a part of its own; c fills the rest and two more parts."""
    cuts = bundle.plan_cuts({"a": 4, "b": 9, "c": 22, "d": 0}, 10)
    assert cuts == [
        Cut("a", 0, 4, 1),
        Cut("b", 0, 9, 2),
        Cut("c", 0, 1, 2),
        Cut("c", 1, 10, 3),
        Cut("c", 11, 10, 4),
        Cut("c", 21, 1, 5),
        Cut("d", 0, 0, 5),
    ]


def test_no_part_is_larger_than_the_limit(parts):
    sizes = [sum(path.stat().st_size for path in part.iterdir()) for part in parts]
    assert len(sizes) == 3
    assert max(sizes) <= LIMIT


def test_parts_join_to_the_same_bytes_in_any_order(parts, tmp_path):
    home = tmp_path / "home"
    assert [bundle.receive_part(part, home) for part in reversed(parts)] == [[1, 2], [1], []]
    for path, file in write_files(tmp_path / "again").items():
        assert (home / path).read_bytes() == file.read_bytes()
    assert list((home / "chunks").iterdir()) == []
    assert bundle.receive_part(parts[0], home) == []


def test_nothing_is_kept_of_a_damaged_part(parts, tmp_path):
    chunk = next(path for path in parts[1].iterdir() if path.name.startswith("chunk"))
    chunk.write_bytes(b"x" + chunk.read_bytes()[1:])
    message = (
        r"part 2: chunk-0003 of deep/large.bin has SHA-256 \w{12}…, not \w{12}…; send part 2 again"
    )
    with pytest.raises(BadPart, match=message):
        bundle.receive_part(parts[1], tmp_path / "home")
    assert not (tmp_path / "home" / "chunks").exists()


def test_a_part_without_one_of_its_chunks_is_refused(parts, tmp_path):
    (parts[0] / "chunk-0002").unlink()
    with pytest.raises(BadPart, match=r"part 1 lacks chunk-0002 of deep/large.bin; send part 1"):
        bundle.receive_part(parts[0], tmp_path / "home")
    for chunk in parts[1].glob("chunk-*"):
        chunk.unlink()
    with pytest.raises(BadPart, match="holds no chunk"):
        bundle.receive_part(parts[1], tmp_path / "home")


def test_parts_of_two_bundles_do_not_mix(parts, tmp_path):
    bundle.receive_part(parts[0], tmp_path / "home")
    files = write_files(tmp_path / "files2")
    bundle.write_parts({"another": files["small.txt"]}, tmp_path / "parts2", LIMIT)
    with pytest.raises(BadPart, match="belongs to another bundle"):
        bundle.receive_part(tmp_path / "parts2" / "part-01", tmp_path / "home")


def test_a_stored_chunk_that_changed_is_found_when_the_file_is_joined(parts, tmp_path):
    home = tmp_path / "home"
    bundle.receive_part(parts[0], home)
    (home / "chunks" / "chunk-0002").write_bytes(b"changed")
    bundle.receive_part(parts[1], home)
    with pytest.raises(BadPart, match=r"deep/large.bin has SHA-256"):
        bundle.receive_part(parts[2], home)
    assert not (home / "deep" / "large.bin").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is no manifest of a bundle"),
        (json.dumps({"format": "r4p.bundle/9"}), "bundle/9, not"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_refused(parts, tmp_path, text, message):
    (parts[0] / bundle.MANIFEST).write_text(text)
    with pytest.raises(BadPart, match=message):
        bundle.receive_part(parts[0], tmp_path / "home")


def test_existing_folders_and_tiny_limits_are_refused(tmp_path):
    with pytest.raises(BadPart, match="exists already"):
        bundle.write_parts({}, tmp_path, LIMIT)
    with pytest.raises(BadPart, match="too small"):
        bundle.write_parts({}, tmp_path / "new", 1000)


def test_the_receiver_needs_only_python_and_starts_the_rented_time(parts, tmp_path):
    home = tmp_path / "home"
    done = rehearsal.run_command(sys.executable, "-I", parts[0] / bundle.RECEIVER, home)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout == "part-01 received; missing: 2, 3; next: the command comes with the source\n"
    )
    started = json.loads((home / bundle.LEASE).read_text())["started"]
    rehearsal.receive(parts[1], home)
    assert json.loads((home / bundle.LEASE).read_text())["started"] == started
