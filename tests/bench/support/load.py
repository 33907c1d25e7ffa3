"""Send deliveries to a server as fast as it answers (closed loop, by wrk) or at a steady rate (open loop)."""

import asyncio
import itertools
import json
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

import uvloop

from tests.bench.bench import NotMeasured
from tests.bench.support.measurements import percentile

CONNECTIONS = 16
_SCRIPT = Path(__file__).with_name("deliveries.lua")


@dataclass(frozen=True, slots=True)
class Post:
    """A signed request that is sent again and again, each time under a new GUID."""

    port: int
    path: str
    event: str
    signature: str
    body: Path


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a run."""

    count: int
    rate: float
    """Answers a second."""
    p50_ms: float
    p99_ms: float


class Failed(Exception):
    """Requests that were not answered with a 2xx: the run measured something else."""


def send_as_fast_as_answered(post: Post, seconds: float) -> Answered:
    """Load the server through 16 keep-alive connections, each sending as soon as it was answered."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s"]
    command += [str(_SCRIPT), f"http://127.0.0.1:{post.port}", "--"]
    command += [post.path, post.event, post.signature, str(post.body), f"{uuid.uuid4()}-"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    except FileNotFoundError as error:
        raise NotMeasured("wrk is not installed; install it") from error
    counted = json.loads(done.stdout.strip().splitlines()[-1])
    if counted["failed"]:
        raise Failed(f"{counted['failed']} of {counted['answered']} requests to {post.path} failed")
    rate = counted["answered"] / counted["seconds"]
    return Answered(counted["answered"], rate, counted["p50_ms"], counted["p99_ms"])


def send_steadily(post: Post, rate: float, seconds: float) -> Answered:
    """Send at a steady rate; latency counts from the moment a request was due, sent or not."""
    latencies = uvloop.run(_steady(_Requests.of(post), post.port, rate, seconds))
    p50, p99 = (1e3 * percentile(latencies, share) for share in (0.5, 0.99))
    return Answered(len(latencies), len(latencies) / seconds, p50, p99)


@dataclass(frozen=True, slots=True)
class _Requests:
    """The same request's bytes, with another GUID each time."""

    start: bytes
    end: bytes
    guids: "itertools.count[int]"
    prefix: str

    @classmethod
    def of(cls, post: Post) -> "_Requests":
        body = post.body.read_bytes()
        start = f"POST {post.path} HTTP/1.1\r\nHost: 127.0.0.1\r\nX-GitHub-Event: {post.event}\r\n"
        start += f"X-Hub-Signature-256: {post.signature}\r\nContent-Type: application/json\r\n"
        start += f"Content-Length: {len(body)}\r\nX-GitHub-Delivery: "
        return cls(start.encode(), b"\r\n\r\n" + body, itertools.count(1), f"{uuid.uuid4()}-")

    def next(self) -> bytes:
        return self.start + f"{self.prefix}{next(self.guids)}".encode() + self.end


@dataclass(frozen=True, slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def to(cls, port: int) -> "_Connection":
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def send(self, request: bytes) -> None:
        """Send one and read its answer. Raises Failed when it is no 2xx."""
        self.writer.write(request)
        try:
            head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
        except (asyncio.IncompleteReadError, ConnectionError) as error:
            raise Failed(f"the server hung up: {error}") from error
        if not head.startswith(b"http/1.1 2"):
            raise Failed(head.partition(b"\r\n")[0].decode())
        length = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
        await self.reader.readexactly(int(length or 0))


async def _steady(requests: _Requests, port: int, rate: float, seconds: float) -> list[float]:
    free: list[_Connection] = []

    async def one(due: float) -> float:
        # Servers close what was idle for a few seconds.
        while free and free[-1].reader.at_eof():
            free.pop().writer.close()
        connection = free.pop() if free else await _Connection.to(port)
        await connection.send(requests.next())
        free.append(connection)
        return time.perf_counter() - due

    tasks = []
    started = time.perf_counter()
    for number in range(round(rate * seconds)):
        due = started + number / rate
        await asyncio.sleep(due - time.perf_counter())
        tasks.append(asyncio.create_task(one(due)))
    return list(await asyncio.gather(*tasks))
