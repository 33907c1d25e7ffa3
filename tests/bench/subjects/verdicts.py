"""From a webhook to a published verdict on four rivals: how long beside the engine, and how many calls."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from tests.bench.bench import Bench, Subject
from tests.bench.support import stage
from tests.bench.support.measurements import Figure, at_most, percentile
from tests.bench.support.stage import Stage
from tests.github.repo import Repo
from tests.services import wait_for

CONFIG = "version: 1\nmode: advisory\nquiet_minutes: 0\ncomments: all\n"
RESULTS = ("w * h", "w - h", "h * w + 1", "w")
STAGES = ("read", "collect", "verify", "publish")
PUBLISHED_SECONDS = 60.0

_JOBS = """
select kind, extract(epoch from created_at)::float8, extract(epoch from claimed_at)::float8,
    extract(epoch from finished_at)::float8
from jobs where installation_id = %s and id > %s and state = 'done' order by id
"""
_ENGINE = """
select (verdict -> 'seconds' ->> 'engine')::float8 from evaluations
join groups on groups.id = group_id where repository_id = %s and evaluations.state = 'published'
"""


@dataclass(frozen=True, slots=True)
class Job:
    """When one job was stored, claimed and finished; seconds since the epoch."""

    stored: float
    claimed: float
    finished: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """One group's way, in milliseconds."""

    whole: float
    engine: float
    stages: dict[str, float]
    """In their order; they add up to `whole`."""
    calls: dict[str, int]

    @property
    def overhead(self) -> float:
        """All but the engine."""
        return self.whole - self.engine


def measure(bench: Bench) -> list[Figure]:
    """V1 and V2, with their stages; V3."""
    with stage.running(bench.scratch) as running:
        field = _Field(bench, running)
        field.verdict(_by_event)  # the first of each process pays for what is made once
        field.verdict(_by_command)
        by_event = [field.verdict(_by_event) for _ in range(bench.scale.groups)]
        by_command = [field.verdict(_by_command) for _ in range(bench.scale.groups)]
    return [
        *_times("V1", "`/r4p verify` sent → last check run published", by_command),
        *_times("V2", "last pull request's event sent → last check run published", by_event),
        _calls("V3", "API calls a verdict, by an event", by_event, 8),
        _calls("V3 command", "API calls a verdict, by `/r4p verify`", by_command, None),
    ]


@dataclass
class _Field:
    bench: Bench
    stage: Stage
    groups: int = 0

    def verdict(self, trigger: Callable[[Repo], None]) -> Verdict:
        """One more group of four, of an installation of its own: the limit on writes is each one's."""
        self.groups += 1
        self.bench.step(f"verdict {self.groups}")
        standin = self.stage.standin
        tree = {"area.py": _area("w + h"), ".github/r4p.yml": CONFIG}
        repo = standin.create_repository(f"owner-{self.groups}/areas", tree)
        standin.grant(repo, "maintainer", "maintain")
        installation = standin.install(self.stage.app, [repo])
        self.stage.settle()
        standin.hold_webhooks()
        trigger(repo)
        (last,) = self.stage.connection.execute("select max(id) from jobs").fetchone()
        mark, sent = standin.mark(), time.time()
        standin.release([-1])  # the rest is lost on the way, so that nothing was prepared
        wait_for(lambda: "publish_verdict" in self._jobs(installation, last), PUBLISHED_SECONDS)
        self.stage.settle()
        (engine,) = self.stage.connection.execute(_ENGINE, (repo.id,)).fetchone()
        stages = _stages(sent, self._jobs(installation, last), engine)
        operations = standin.calls(mark).operations
        calls = {name: count for name, count in operations.items() if ".git/" not in name}
        return Verdict(sum(stages.values()), engine * 1e3, stages, calls)

    def _jobs(self, installation: int, since: int) -> dict[str, Job]:
        rows = self.stage.connection.execute(_JOBS, (installation, since))
        return {kind: Job(*moments) for kind, *moments in rows}


def _by_event(repo: Repo) -> None:
    issue = repo.open_issue("Area is wrong", "It adds.")
    for result in RESULTS:
        repo.open_pr(f"Return {result}", f"Fixes #{issue}", files={"area.py": _area(result)})


def _by_command(repo: Repo) -> None:
    _by_event(repo)
    repo.comment(1, "/r4p verify", "maintainer")


def _area(result: str) -> str:
    return f"def area(w, h):\n    return {result}\n"


def _stages(sent: float, jobs: dict[str, Job], engine: float) -> dict[str, float]:
    """What the time went into: each job's wait until it was claimed, and its work until the next was stored."""
    chain = [jobs["run_command"] if "run_command" in jobs else jobs["record_event"]]
    chain += [jobs[kind] for kind in ("evaluate_issue", "verify_group", "publish_verdict")]
    ends = [*(job.stored for job in chain[1:]), chain[-1].finished]
    found = {"door": chain[0].stored - sent}
    for name, job, end in zip(STAGES, chain, ends, strict=True):
        found[f"wait for {name}"] = job.claimed - job.stored
        found[name] = end - job.claimed - (engine if name == "verify" else 0)
    found["engine"] = engine
    return {name: seconds * 1e3 for name, seconds in found.items()}


def _times(name: str, what: str, verdicts: list[Verdict]) -> list[Figure]:
    overheads = [verdict.overhead for verdict in verdicts]
    stages = ", ".join(
        f"{stage} {median(verdict.stages[stage] for verdict in verdicts):.0f}"
        for stage in verdicts[0].stages
    )
    told = f"medians of the stages in ms: {stages}; whole {median(v.whole for v in verdicts):.0f}"
    return [
        Figure(
            name,
            f"{what}, less the engine, p50",
            "ms",
            tuple(overheads),
            asked=at_most(400),
            note=told,
        ),
        Figure(f"{name} p90", "the same, p90", "ms", (percentile(overheads, 0.9),)),
    ]


def _calls(name: str, what: str, verdicts: list[Verdict], limit: int | None) -> Figure:
    counts = tuple(float(sum(verdict.calls.values())) for verdict in verdicts)
    told = ", ".join(f"{times} × `{call}`" for call, times in verdicts[-1].calls.items())
    asked = None if limit is None else at_most(limit)
    return Figure(name, what, "calls", counts, asked=asked, note=told)


SUBJECT = Subject(
    "verdicts",
    "Four rival pull requests of one issue that the bot never saw, judged in four votes by a scripted"
    f" engine that takes {stage.VOTE_SECONDS * 1e3:.0f} ms a vote; processes as `r4p up` starts them, with"
    " a debounce of 0. The stand-in for GitHub validates every exchange and shares the cores, and its"
    " time counts as ours. Calls for tokens and git's own are not counted.",
    measure,
)
