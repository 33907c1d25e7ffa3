"""An archive is written below its folder and nowhere else, on each supported Python."""

import io
import tarfile

import pytest

from model.workspace.tar_extraction import extract_files


def build_member(name, content=b"", kind=tarfile.REGTYPE, link="", mode=0o644, **headers):
    """A member of an archive; `headers` are of PAX."""
    member = tarfile.TarInfo(name)
    member.size, member.type, member.linkname, member.mode = len(content), kind, link, mode
    member.mtime = 1_700_000_000
    member.pax_headers = headers
    return member, content


@pytest.fixture
def extract(tmp_path):
    """`extract(*members)`: extract an archive of these into a folder, and return the folder."""

    def run(*members):
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            for member, content in members:
                archive.addfile(member, io.BytesIO(content))
        with tarfile.open(tmp_path / "x.tar") as archive:
            extract_files(archive, archive, tmp_path / "out")
        return tmp_path / "out"

    return run


def test_folders_files_modes_and_times_are_kept(extract):
    out = extract(
        build_member("a", kind=tarfile.DIRTYPE),
        build_member("a/run.sh", b"echo", mode=0o777),
        build_member("b/secret", b"key", mode=0o400),
    )
    assert (out / "a" / "run.sh").read_bytes() == b"echo"
    assert (out / "a" / "run.sh").stat().st_mode & 0o777 == 0o755
    assert (out / "b" / "secret").stat().st_mode & 0o777 == 0o600
    assert (out / "b" / "secret").stat().st_mtime == 1_700_000_000


def test_hard_links_need_no_more_room_than_their_file(extract):
    links = [build_member(f"b/{n}", kind=tarfile.LNKTYPE, link="a") for n in range(50)]
    out = extract(build_member("a", b"text"), *links)
    assert (out / "b" / "49").read_bytes() == b"text"
    assert (out / "a").stat().st_nlink == 51


def test_the_last_of_two_equal_names_counts(extract):
    assert (extract(build_member("a", b"1"), build_member("a", b"2")) / "a").read_bytes() == b"2"


@pytest.mark.parametrize(
    ("member", "words"),
    [
        (build_member("../x", b"out"), "leads out"),
        (build_member("a/../../x", b"out"), "leads out"),
        (build_member("/tmp/x", b"out"), "leads out"),
        (build_member("x", kind=tarfile.SYMTYPE, link="/etc/passwd"), "is no file"),
        (build_member("x", kind=tarfile.SYMTYPE, link="x"), "is no file"),
        (build_member("x", kind=tarfile.LNKTYPE, link="../../etc/passwd"), "leads out"),
        (build_member("x", kind=tarfile.LNKTYPE, link="later"), "links to no file"),
        (build_member("x", kind=tarfile.LNKTYPE, link="x"), "links to no file"),
        (build_member("x", kind=tarfile.FIFOTYPE), "is no file"),
        (build_member("x", kind=tarfile.CHRTYPE), "is no file"),
    ],
)
def test_nothing_leaves_the_folder(extract, tmp_path, member, words):
    with pytest.raises(tarfile.TarError, match=words):
        extract(member)
    assert {path.name for path in tmp_path.iterdir()} <= {"x.tar", "out"}


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([build_member("x", mtime="nan")], "which no file can have"),
        ([build_member("x", mtime="inf")], "which no file can have"),
        ([build_member("x", mtime="1e300")], "which no file can have"),
        ([build_member("x", path="a\0b")], "NUL"),
        ([build_member("d", kind=tarfile.DIRTYPE, path="a\0b")], "NUL"),
        ([build_member("a"), build_member("a", kind=tarfile.DIRTYPE)], "a file and a folder"),
        ([build_member("a"), build_member("a/b")], "a file and a folder"),
        ([build_member("a"), build_member("a/b/c")], "a file and a folder"),
        ([build_member("a", kind=tarfile.DIRTYPE), build_member("a")], "a file and a folder"),
        (
            [
                build_member("x"),
                build_member("a/b"),
                build_member("a", kind=tarfile.LNKTYPE, link="x"),
            ],
            "a file and a folder",
        ),
    ],
)
def test_a_member_that_no_file_can_be_is_an_error_of_the_archive(extract, members, words):
    with pytest.raises(tarfile.TarError, match=words):
        extract(*members)


def test_the_time_of_a_folder_is_not_read(extract):
    assert (extract(build_member("a", kind=tarfile.DIRTYPE, mtime="nan")) / "a").is_dir()
