"""From a webhook to a worker's hand: sent, stored, rung for, claimed."""

import hashlib
import hmac
import json
import time
import uuid
from itertools import chain
from statistics import median

import httpx

from app.web.webhook import PATH
from tests.bench.bench import Bench, Subject
from tests.bench.support import stage
from tests.bench.support.measurements import Figure, at_most, percentile
from tests.bench.support.stage import SECRET, Stage
from tests.github.contract import Contract
from tests.services import wait_for

PAUSE_SECONDS = 0.1
"""Between deliveries: the system is idle when each comes."""
PER_ROUND = 30

_CLAIMED = """
select extract(epoch from jobs.created_at)::float8, extract(epoch from jobs.claimed_at)::float8
from jobs where delivery_guid = %s and claimed_at is not null
"""


def measure(bench: Bench) -> list[Figure]:
    """E1 and what it is made of."""
    with stage.running(bench.scratch) as running:
        return _figures(bench, running)


def _figures(bench: Bench, running: Stage) -> list[Figure]:
    bench.step("warming up")
    _round(running, 10)
    rounds = []
    for number in range(bench.scale.rounds):
        bench.step(f"deliveries, round {number + 1} of {PER_ROUND}")
        rounds.append(_round(running, PER_ROUND))
    whole = [[door + bell for door, bell in times] for times in rounds]
    what = "webhook sent → job claimed by a worker, idle system"
    return [
        _median("E1", f"{what}, p50", whole, 20),
        Figure("E1 p99", f"{what}, p99 of all", "ms", (percentile(list(chain(*whole)), 0.99),)),
        _median("E1 door", "of it: sent → stored", [[d for d, _ in r] for r in rounds], None),
        _median("B1", "of it: stored → claimed", [[b for _, b in r] for r in rounds], 12.4),
    ]


def _median(name: str, what: str, rounds: list[list[float]], limit: float | None) -> Figure:
    values = tuple(median(times) for times in rounds)
    return Figure(name, what, "ms", values, asked=at_most(limit) if limit else None)


def _round(running: Stage, count: int) -> list[tuple[float, float]]:
    """Milliseconds from sent to stored, and from stored to claimed, of each delivery."""
    body = json.dumps(Contract.load().webhook_example("issues", "opened")).encode()
    digest = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    signed = {"X-GitHub-Event": "issues", "X-Hub-Signature-256": f"sha256={digest}"}
    found = []
    with httpx.Client(base_url=running.bot.listen.url, trust_env=False) as client:
        for _ in range(count):
            guid = str(uuid.uuid4())
            time.sleep(PAUSE_SECONDS)
            sent = time.time()
            client.post(PATH, content=body, headers=signed | {"X-GitHub-Delivery": guid})
            wait_for(lambda guid=guid: running.connection.execute(_CLAIMED, (guid,)).fetchone())
            stored, claimed = running.connection.execute(_CLAIMED, (guid,)).fetchone()
            found.append(((stored - sent) * 1e3, (claimed - stored) * 1e3))
    return found


SUBJECT = Subject(
    "journey",
    "The processes of `r4p up`, idle but for the beat's sweeps, and an `issues` delivery every"
    " tenth of a second; the times are those of the rows in `jobs`, by the same machine's clock.",
    measure,
)
