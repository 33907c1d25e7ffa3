"""Tars as nobody's git writes them, and what lies in a folder."""

import io
import tarfile


def member(name, kind=tarfile.REGTYPE, link="", data=b"theirs", **more):
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, len(data)
    for key, value in more.items():
        setattr(made, key, value)
    return made, data


def tar_of(*members, kind=tarfile.PAX_FORMAT):
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=kind) as tar:
        for made, data in members:
            tar.addfile(made, io.BytesIO(data))
    return stream.getvalue()


def files_in(directory):
    return {
        str(p.relative_to(directory)): p.read_bytes() for p in directory.rglob("*") if p.is_file()
    }


def world(*tops):
    return {
        p: (p.lstat().st_mode, p.read_bytes() if p.is_file() else b"")
        for t in tops
        for p in t.rglob("*")
    }
