"""Real git repositories served over smart HTTP by git's own backend, on loopback."""

import os
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

_WHO = {
    f"GIT_{role}_{part}": value
    for role in ("AUTHOR", "COMMITTER")
    for part, value in (("NAME", "a"), ("EMAIL", "a@example.invalid"))
}

Content = bytes | str | tuple[str, bytes | str]
"""Of a file; with its mode (`120000`, `100755`, or `160000` and a commit) when it is special."""


class Upstream:
    """A bare repository built object by object, so that it may hold what git itself would refuse."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True)
        self.git("init", "--quiet", "--bare", "--initial-branch=main", ".")
        self.git("config", "http.receivepack", "false")
        self.clock = 1_700_000_000

    def git(self, *arguments: str, data: bytes = b"") -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=self.path,
            input=data,
            capture_output=True,
            check=True,
            timeout=60,
            env={"PATH": os.defpath, **_WHO, "GIT_CONFIG_GLOBAL": "/dev/null", **self._dates()},
        )
        return done.stdout.decode(errors="replace").strip()

    def _dates(self) -> dict[str, str]:
        at = f"{getattr(self, 'clock', 0)} +0000"
        return {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at}

    def blob(self, data: bytes | str) -> str:
        raw = data.encode() if isinstance(data, str) else data
        return self.git("hash-object", "-w", "--stdin", data=raw)

    def tree(self, files: Mapping[str, Content]) -> str:
        """A tree of these paths; a name between slashes may be anything but empty."""
        entries: list[tuple[str, str, str, str]] = []
        folders: dict[str, dict[str, Content]] = {}
        for path, content in files.items():
            name, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(name, {})[rest] = content
                continue
            mode, body = content if isinstance(content, tuple) else ("100644", content)
            kind = "commit" if mode == "160000" else "blob"
            oid = str(body) if mode == "160000" else self.blob(body)
            entries.append((mode, kind, oid, name))
        entries += [("040000", "tree", self.tree(f), name) for name, f in folders.items()]
        lines = b"".join(f"{m} {k} {o}\t{n}\0".encode() for m, k, o, n in entries)
        return self.git("mktree", "-z", "--missing", data=lines)

    def commit(
        self, files: Mapping[str, Content] | str, *parents: str, ref: str, message: str = "x"
    ) -> str:
        """A commit of these files (or of that tree), at that ref."""
        self.clock += 600
        tree = files if isinstance(files, str) else self.tree(files)
        onto = [part for parent in parents for part in ("-p", parent)]
        sha = self.git("commit-tree", tree, *onto, data=message.encode())
        self.git("update-ref", ref, sha)
        return sha


class GitServer:
    """Serves `directory/owner/name.git` and remembers each request's Authorization header."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.requests: list[tuple[str, str | None]] = []
        self.redirect: str | None = None
        self.refuse: int | None = None
        handler = type("Handler", (_Handler,), {"git_server": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def fetches(self) -> int:
        return sum(path.endswith("info/refs?service=git-upload-pack") for path, _ in self.requests)

    @contextmanager
    def running(self) -> Iterator["GitServer"]:
        serve = self._server.serve_forever
        thread = threading.Thread(target=serve, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    git_server: GitServer

    def __getattr__(self, name: str) -> object:
        if name in {"do_GET", "do_POST"}:
            return self.serve
        raise AttributeError(name)

    def body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = []
        while size := int(self.rfile.readline(), 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(parts)

    def serve(self) -> None:
        data = self.body()
        self.git_server.requests.append((self.path, self.headers.get("Authorization")))
        if self.git_server.redirect is not None:
            self.answer(302, {"Location": self.git_server.redirect + self.path}, b"")
        elif self.git_server.refuse is not None:
            self.answer(self.git_server.refuse, {}, b"no")
        else:
            self.answer(*self.backend(data))

    def backend(self, data: bytes) -> tuple[int, dict[str, str], bytes]:
        path, _, query = self.path.partition("?")
        done = subprocess.run(
            ["git", "http-backend"],
            input=data,
            capture_output=True,
            check=False,
            timeout=60,
            env={
                "PATH": os.defpath,
                "GIT_PROJECT_ROOT": str(self.git_server.directory),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                "REQUEST_METHOD": self.command,
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(data)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            },
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n") if line)
        return int(headers.pop("Status", "200").split()[0]), headers, body

    def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass
