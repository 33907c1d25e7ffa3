"""A small real HTTP server that keeps its webhooks and gives the answer that a test sets."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Received:
    """A delivery as it arrived."""

    headers: dict[str, str]
    body: bytes


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_):
        """Ignore clients that hung up before the answer."""


class Receiver:
    """Listens on loopback until closed; `status` is what it answers, `pause` delays the answer."""

    def __init__(self):
        self.received = []
        self.status = 202
        self.pause = threading.Event()
        self.pause.set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                outer.received.append(Received(dict(self.headers), body))
                outer.pause.wait(5)
                self.send_response(outer.status)
                self.end_headers()
                self.wfile.write(b"noted")

            def log_message(self, *_):
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hooks"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def events(self):
        return [r.headers["X-GitHub-Event"] for r in self.received]

    def close(self):
        self.pause.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def list_bodies(receiver):
    """Return the decoded deliveries in order."""
    return [json.loads(r.body) for r in receiver.received]
