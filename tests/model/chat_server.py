"""A small HTTP server that speaks the chat completions API, with correct and broken answers."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """What the server answers next: JSON, or raw bytes; `cut` promises more bytes than it sends."""

    body: object
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    wait_for: threading.Event | None = None


def build_completion(text, **extra):
    """A good answer in vLLM's shape."""
    return Reply(build_choices(text).body | extra)


def build_classification(*values, prompt_tokens=100):
    """The answer of vLLM 0.32 to `/classify`, as it sends it, with the numbers of the head.

    A proof in `test_judge_by_reward_model` holds it against a real server.
    """
    entry = {"index": 0, "label": "LABEL_0", "probs": [*values], "num_classes": len(values)}
    usage = {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens,
        "completion_tokens": 0,
        "prompt_tokens_details": None,
        "completion_tokens_details": None,
    }
    return Reply(
        {
            "id": "classify-a31f22e47edb7c9e",
            "object": "list",
            "created": 1_795_412_362,
            "model": "r4p",
            "data": [entry],
            "usage": usage,
        }
    )


def build_choices(*texts, completion_tokens=7, **of_each):
    """A good answer with several samples, or with more than a text in each."""
    found = [
        {"message": {"role": "assistant", "content": text}, "finish_reason": "stop"} | of_each
        for text in texts
    ]
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 64},
    }
    return Reply({"choices": found, "usage": usage})


DEAD_URL = "http://127.0.0.1:9/v1"
"""Nothing listens on this port."""
MODELS = Reply({"object": "list", "data": [{"id": "r4p", "max_model_len": 4096}]})


class ChatServer(ThreadingHTTPServer):
    """Answers each path from its list of replies; the last one repeats. Remembers what it was sent."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, routes):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.routes = {path: list(replies) for path, replies in routes.items()}
        self.seen = []
        self.together = 0
        self.most_together = 0
        self.lock = threading.Lock()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def list_bodies(self, path):
        """The decoded bodies that a path got, in order."""
        return [body for where, _, body in self.seen if where == path]

    def next_reply(self, path):
        with self.lock:
            replies = self.routes.get(path)
            if not replies:
                return Reply({"error": "no such route"}, 404)
            return replies.pop(0) if len(replies) > 1 else replies[0]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ChatServer

    def do_GET(self):
        self.answer(None)

    def do_POST(self):
        self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def answer(self, body):
        server = self.server
        with server.lock:
            server.seen.append((self.path, dict(self.headers), body))
            server.together += 1
            server.most_together = max(server.most_together, server.together)
        reply = server.next_reply(self.path)
        if reply.wait_for:
            reply.wait_for.wait(60)
        with server.lock:
            server.together -= 1
        raw = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
        try:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw) + (50 if reply.cut else 0)))
            self.end_headers()
            self.wfile.write(raw)
        except OSError:
            pass  # the client has given up, which is what some tests are about
        self.close_connection = reply.cut

    def log_message(self, *_): ...


@contextmanager
def serve_chat(**routes) -> Iterator[ChatServer]:
    """A running server; routes by short name: models, chat, tokenize, tokenizer_info, classify."""
    paths = {
        "models": "/v1/models",
        "chat": "/v1/chat/completions",
        "tokenize": "/tokenize",
        "tokenizer_info": "/tokenizer_info",
        "classify": "/classify",
    }
    with ChatServer({paths[name]: replies for name, replies in routes.items()}) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
