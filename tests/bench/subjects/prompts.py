"""What an engine makes of prompts that begin alike: ours on a real vLLM, beside one prompt at a time."""

import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median

import httpx

from model import catalog
from model.catalog import EngineChoice
from model.engines import chat_api
from model.evaluation import evaluation_run, judge_catalog, labelled_group, run_file
from model.evaluation.labelled_group import LabelledGroup
from model.protocols import Completion, Engine, Message, Request
from tests import vllm_server
from tests.bench.bench import Bench, NotMeasured, Subject
from tests.bench.support.measurements import Figure, Pairs, at_least, at_most
from tests.bench.support.prefix_reuse import reusable_share
from tests.vllm_server import BLOCK_TOKENS, Server

FILE = "distinct_eval_groups.jsonl.gz"
TOGETHER = 10
"""Groups that may be judged at a time, as by `r4p evaluate --together 10`."""
PARTS = 4
"""Runs of ours, each on groups that no other has warmed the cache with."""
PART = 5
"""Groups of each: their 20 votes fill the server's 16 seats already."""
VOTES = 4
REPLY_TOKENS = 48
WARM_UP = Request((Message("user", "Say hello."),), 4, 1.0, 0)


@dataclass
class Listener:
    """Passes on what a verifier asks of an engine, continuations too, and remembers it."""

    engine: Engine
    heard: list[Request] = field(default_factory=list)

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def complete(self, requests: Sequence[Request]):
        self.heard += requests
        answers = self.engine.complete(requests)
        assert all(isinstance(answer, Completion) for answer in answers), answers
        return answers


@dataclass
class Cache:
    """Counters of vLLM's prefix cache, in tokens, of the runs that were ours."""

    asked: float = 0.0
    hit: float = 0.0

    def add(self, before: dict[str, float], after: dict[str, float]) -> None:
        self.asked += after["prefix_cache_queries_total"] - before["prefix_cache_queries_total"]
        self.hit += after["prefix_cache_hits_total"] - before["prefix_cache_hits_total"]


def measure(bench: Bench) -> list[Figure]:
    """Parts judged as by `r4p evaluate`, and the same prompts one by one, in turn, on one server."""
    if vllm_server.MISSING:
        raise NotMeasured(vllm_server.MISSING)
    if bench.data is None:
        raise NotMeasured(f"set R4P_DATA to the folder that holds {FILE}")
    parts, alone = _draw_parts(bench.data / FILE, PARTS if bench.scale.rounds > 1 else 1)
    speeds, cache, heard = Pairs(), Cache(), []
    bench.step("starting vLLM")
    with vllm_server.running() as server, _client(server) as client:
        choice = EngineChoice("openai_compatible", url=server.url)
        with closing(catalog.load_engine(choice)) as engine:
            _one_by_one(client, server, [WARM_UP] * 3)
            for number, part in enumerate(parts, 1):
                bench.step(f"part {number} of {len(parts)}, together")
                before, kept = server.metrics(), bench.scratch / f"{number}.jsonl"
                ours, requests = _judge_part(engine, part, kept, together=TOGETHER)
                cache.add(before, server.metrics())
                heard += requests
                bench.step(f"part {number} of {len(parts)}, one by one")
                speeds.add(ours, _patches(part) / _one_by_one(client, server, requests))
            bench.step("one group at a time")
            single, _ = _judge_part(engine, alone, bench.scratch / "alone.jsonl", together=1)
        allowed = reusable_share([_tokens(client, server, one) for one in heard], BLOCK_TOKENS)
        version = client.get(f"{server.root}/version").json()["version"]
    found = _figures(speeds, sum(map(len, parts)), cache.hit / cache.asked, allowed, version)
    return [*found, _single(single, len(alone))]


def _draw_parts(path: Path, parts: int) -> tuple[list[list[LabelledGroup]], list[LabelledGroup]]:
    """Parts of groups of about the same sizes, and a few more for one at a time."""
    apart = PARTS if parts > 1 else 1
    shortest = _shortest(path, parts * PART + apart)
    step = len(shortest) // apart
    alone = shortest[step - 1 :: step]
    rest = [group for group in shortest if group not in alone]
    return [rest[at::parts] for at in range(parts)], alone


def _shortest(path: Path, most: int) -> list[LabelledGroup]:
    def size(group: LabelledGroup) -> int:
        return len(group.issue.text) + sum(len(one.patch.diff) for one in group.patches)

    return sorted(labelled_group.read_groups(path), key=size)[:most]


def _client(server: Server) -> httpx.Client:
    return httpx.Client(base_url=f"{server.url}/", timeout=600, trust_env=False)


def _judge_part(
    engine: Engine, part: Sequence[LabelledGroup], kept: Path, *, together: int
) -> tuple[float, list[Request]]:
    """Patches a second by the run that `r4p evaluate` makes, its file included, and what the engine was asked."""
    listener = Listener(engine)
    verifier = catalog.load_verifier("r4p", listener, reply_tokens=REPLY_TOKENS)
    judge = judge_catalog.build_judge("r4p", verifier, VOTES)
    with run_file.open_run_file(kept) as file:
        started = time.monotonic()
        evaluation_run.judge_groups(part, judge, file, concurrency=together)
        return _patches(part) / (time.monotonic() - started), listener.heard


def _patches(part: Sequence[LabelledGroup]) -> int:
    return sum(len(group.patches) for group in part)


_salts = count(1)


def _one_by_one(client: httpx.Client, server: Server, requests: Sequence[Request]) -> float:
    """Seconds for the same, each with a salt of its own, so that nothing is found in the cache."""
    started = time.monotonic()
    for request in requests:
        body = chat_api.build_body(server.model, [request]) | {"cache_salt": f"salt {next(_salts)}"}
        client.post("chat/completions", json=body).raise_for_status()
    return time.monotonic() - started


def _tokens(client: httpx.Client, server: Server, request: Request) -> list[int]:
    """The whole prompt as the server reads it, chat template included."""
    answer = client.post(
        f"{server.root}/tokenize", json=chat_api.build_body(server.model, [request])
    ).raise_for_status()
    return answer.json()["tokens"]


def _figures(
    speeds: Pairs, groups: int, cached: float, allowed: float, version: str
) -> list[Figure]:
    beside = "the same prompts one by one, nothing cached"
    what = f"{VOTES} votes on each of {groups} groups"
    seconds = tuple(1 / speed for speed in speeds.ours)
    return [
        Figure(
            "L1",
            f"{what}: patches judged",
            "patches/s",
            tuple(speeds.ours),
            beside,
            tuple(speeds.beside),
            ratio_asked=at_least(2),
        ),
        Figure(
            "L2",
            "cached share of the prompts' tokens, off from what the orders allow",
            "points",
            (abs(cached - allowed) * 100,),
            asked=at_most(5),
            note=f"{cached:.1%} by vLLM's own counters, {allowed:.1%} allowed in blocks of {BLOCK_TOKENS}",
        ),
        Figure(
            "L3",
            f"{what}: time for a patch",
            "s",
            seconds,
            beside,
            tuple(1 / speed for speed in speeds.beside),
            note=f"{median(seconds):.2f} s for all {VOTES} votes on a patch, vLLM {version} on the machine above, no GPU;"
            " the R4P paper: under 1 s for a 32B model on two 80 GB GPUs",
        ),
    ]


def _single(speed: float, groups: int) -> Figure:
    return Figure(
        "L4",
        f"the same on {groups} further groups, one at a time as the worker judges: patches judged",
        "patches/s",
        (speed,),
    )


SUBJECT = Subject(
    "prompts",
    f"vLLM for CPUs with SmolLM2-135M-Instruct in bf16, on all cores but one; the shortest groups of {FILE},"
    f" four patches each, {VOTES} votes with replies of at most {REPLY_TOKENS} tokens. Ours is what `r4p evaluate"
    f" --verifier r4p --together {TOGETHER}` runs, its file included, on {PARTS} times {PART} groups, none of which the server"
    " has seen before. Beside it stand the requests that this made, continuations of replies without a box too, on the"
    " same server, one after the other, each with a cache salt of its own.",
    measure,
)
