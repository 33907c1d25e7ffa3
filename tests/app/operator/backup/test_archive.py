"""A damaged or hostile archive is one error of the backup, whatever it holds."""

import io
import tarfile

import pytest

from app.operator.backup.archive import MANIFEST, extract_archive, write_archive
from app.operator.backup.postgres_tools import BackupError


@pytest.fixture
def spoil(tmp_path):
    """`spoil(headers)`: write an archive whose last file has these headers of PAX, and return its path."""

    def write(headers):
        dump = tmp_path / "dump"
        dump.write_bytes(b"rows")
        source = tmp_path / "backup.tar"
        write_archive(source, dump, None, "1", has_roles=False)
        member = tarfile.TarInfo("files/x")
        member.pax_headers = headers
        with tarfile.open(source, "a") as archive:
            archive.addfile(member, io.BytesIO())
        return source

    return write


@pytest.mark.parametrize("headers", [{"mtime": "nan"}, {"mtime": "inf"}, {"path": "a\0b"}])
def test_a_hostile_header_is_an_error_of_the_backup(spoil, tmp_path, headers):
    with pytest.raises(BackupError, match="can't be extracted"):
        extract_archive(spoil(headers), tmp_path / "out", lambda _line: None)


def test_a_whole_archive_is_extracted(spoil, tmp_path):
    extract_archive(spoil({}), tmp_path / "out", lambda _line: None)
    assert (tmp_path / "out" / MANIFEST).is_file()
    assert (tmp_path / "out" / "files" / "x").is_file()
