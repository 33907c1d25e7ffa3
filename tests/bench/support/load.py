"""Deliveries sent to a server: as fast as they are answered (closed loop), or at a steady rate (open loop).

The closed loop is wrk where it is installed; without it our own client is used, for all alike.
"""

import asyncio
import itertools
import json
import shutil
import subprocess
import sys
import time
import uuid
from dataclasses import asdict, dataclass
from pathlib import Path

import uvloop

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


def generator() -> str:
    """What makes the closed loop's load on this machine."""
    return "wrk" if shutil.which("wrk") else "our own asyncio client (wrk is not installed)"


def closed(post: Post, seconds: float) -> Answered:
    """16 keep-alive connections, each sending as soon as it was answered."""
    if shutil.which("wrk"):
        command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{max(1, round(seconds))}s", "-s"]
        command += [str(_SCRIPT), f"http://127.0.0.1:{post.port}", "--"]
        command += [post.path, post.event, post.signature, str(post.body), f"{uuid.uuid4()}-"]
    else:
        values = json.dumps(asdict(post) | {"body": str(post.body)})
        command = [sys.executable, "-m", "tests.bench.support.load", values, str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    found = json.loads(done.stdout.strip().splitlines()[-1])
    if found["failed"]:
        raise Failed(f"{found['failed']} of {found['answered']} requests to {post.path} failed")
    rate = found["answered"] / found["seconds"]
    return Answered(found["answered"], rate, found["p50_ms"], found["p99_ms"])


def steady(post: Post, rate: float, seconds: float) -> Answered:
    """An open loop: latency counts from the moment a request was due, sent or not."""
    latencies = uvloop.run(_steady(_Requests.of(post), post.port, rate, seconds))
    return Answered(len(latencies), len(latencies) / seconds, *_percentiles(latencies))


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


async def _closed(requests: _Requests, port: int, seconds: float) -> list[float]:
    until = time.perf_counter() + seconds

    async def loop() -> list[float]:
        connection = await _Connection.to(port)
        latencies = []
        while (sent := time.perf_counter()) < until:
            await connection.send(requests.next())
            latencies.append(time.perf_counter() - sent)
        return latencies

    found = await asyncio.gather(*(loop() for _ in range(CONNECTIONS)))
    return [latency for latencies in found for latency in latencies]


def _percentiles(latencies: list[float]) -> tuple[float, float]:
    return percentile(latencies, 0.5) * 1e3, percentile(latencies, 0.99) * 1e3


def _main(values: str, seconds: float) -> None:
    post = Post(**json.loads(values) | {"body": Path(json.loads(values)["body"])})
    latencies = uvloop.run(_closed(_Requests.of(post), post.port, seconds))
    p50, p99 = _percentiles(latencies)
    found = {"answered": len(latencies), "seconds": seconds, "failed": 0}
    print(json.dumps(found | {"p50_ms": p50, "p99_ms": p99}))


if __name__ == "__main__":
    _main(sys.argv[1], float(sys.argv[2]))
