"""`python -m tests.proofs.agents`: an agent with a real model on real issues, on trees from the package index.

It need not resolve them. What counts is that every attempt ends with a reason, that what comes out is a patch that git
takes, and that the record of it can be carried out once more.
"""

import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from app.settings import build_child_environment
from model import catalog
from model.agents import attempt_setup
from model.agents.agentless.agentless_mini import AgentlessMini
from model.agents.agentless.sampling_plan import SamplingPlan
from model.agents.mini_se.mini_se import MiniSE
from model.agents.parallel_attempts import Agent
from model.agents.trajectories import trajectory_json
from model.agents.trajectories.trajectory import Attempt, AttemptLimits, Step
from model.catalog import EngineChoice
from model.protocols import Engine
from tests import vllm_server
from tests.builders.attempt_replay import replay_attempt
from tests.proofs import instances
from tests.proofs.instances import Instance
from tests.proofs.results import agents_table
from tests.proofs.results.run_file import RunFile
from tests.proofs.trees import Chosen, choose_releases, fetch_releases

CONSOLE = Console(stderr=True)
_Place = tuple[Instance, Chosen]
_Made = Callable[[Engine], Agent]


def main(
    data: Annotated[Path, typer.Option(help="The folder with labelled issues.")],
    trees: Annotated[Path, typer.Option(help="Where releases are unpacked, and kept.")],
    out: Annotated[Path, typer.Option(help="One JSON object per attempt; a run goes on with it.")],
    agent: Annotated[str, typer.Option(help=f"{MiniSE.name} or {AgentlessMini.name}.")],
    model: Annotated[str, typer.Option(help="Of our catalogue.")] = catalog.DEFAULT_MODEL,
    issues: Annotated[int, typer.Option(help="How many, of the projects in turns.")] = 12,
    context: Annotated[int, typer.Option(help="Tokens that the server reads and writes.")] = 16_384,
    rounds: Annotated[int, typer.Option(help="Of a conversation.")] = 50,
    reply_tokens: Annotated[int, typer.Option(help="Of one reply.")] = 1_024,
    seconds: Annotated[float, typer.Option(help="Of one attempt; all run together.")] = 150.0,
    samples: Annotated[str, typer.Option(help="A pipeline's localisations and repairs.")] = "4,16",
    trajectories: Annotated[Path | None, typer.Option(help="Where to keep them.")] = None,
) -> None:
    """One attempt on each issue, all of them together; a table on stdout, a summary beside the run file."""
    run = RunFile(out, "agent", "instance")
    limits = AttemptLimits(rounds=rounds, reply_tokens=reply_tokens, seconds=seconds)
    localisations, repairs = map(int, samples.split(","))
    plan = SamplingPlan(localisations=localisations, repairs=repairs)

    def build_agent(engine: Engine) -> Agent:
        if agent == MiniSE.name:
            return MiniSE(engine, limits=limits)
        return AgentlessMini(engine, limits=limits, plan=plan)

    left = [one for one in _places(data, trees, issues) if not run.has(agent, one[0].id)]
    if left:
        with vllm_server.running(model, context=context) as server:
            choice = EngineChoice("openai_compatible", url=server.url)
            with closing(catalog.load_engine(choice)) as engine:
                for row in _attempt_all(
                    left, build_agent(engine), trees / "index.sqlite", trajectories
                ):
                    run.add(row | {"model": model})
    summary = agents_table.summary(run.rows)
    out.with_suffix(".summary.json").write_text(json.dumps(summary, indent=1) + "\n")
    typer.echo(agents_table.markdown(summary))


def in_turns(instances: Sequence[Instance]) -> list[Instance]:
    """One of each project, then the next of each; of a project the ones in the middle of its years first (pure)."""
    queues = []
    for _, own in groupby(
        sorted(instances, key=lambda instance: instance.repo), key=lambda instance: instance.repo
    ):
        queue = sorted(own, key=lambda instance: instance.number)
        middle = len(queue) // 2
        queues.append(sorted(queue, key=lambda instance: abs(queue.index(instance) - middle)))
    return [one for turn in zip_longest(*queues) for one in turn if one]


def applies(patch: str, tree: Path) -> bool:
    """Whether git takes it, on the tree it was made on; nothing is written."""
    done = subprocess.run(
        ["git", "apply", "--check", "-"],
        cwd=tree,
        input=patch.encode(errors="surrogateescape"),
        env=build_child_environment({"GIT_CEILING_DIRECTORIES": str(tree.parent)}),
        capture_output=True,
        check=False,
    )
    return done.returncode == 0


def _places(data: Path, trees: Path, count: int) -> list[_Place]:
    """Issues whose tree is the very one at the changed lines: their patch fits some release without an offset."""
    found = []
    for repo, own in groupby(instances.read(data), key=lambda instance: instance.repo):
        issues = list(own)
        releases = fetch_releases(repo, trees, CONSOLE.print)
        found += [
            (one, place)
            for one, place in zip(issues, choose_releases(issues, releases), strict=True)
            if place and place.fit.off == 0
        ]
    by_id = {one.id: (one, place) for one, place in found}
    return [by_id[one.id] for one in in_turns([one for one, _ in found])[:count]]


def _attempt_all(
    places: Sequence[_Place], agent: Agent, database: Path, kept: Path | None
) -> Iterator[dict[str, Any]]:
    """All at once, so that the server has something to batch; each when it is over."""
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()
    with (
        Progress(*columns, TimeElapsedColumn(), console=CONSOLE, transient=True) as bar,
        ThreadPoolExecutor(len(places)) as pool,
    ):
        task = bar.add_task(f"{agent.name}", total=len(places))

        def show_step(step: Step) -> None:
            bar.update(task, description=f"{agent.name}, {step.seconds:.0f} s")

        futures = [pool.submit(_one, place, agent, (database, kept), show_step) for place in places]
        for future in as_completed(futures):
            yield future.result()
            bar.advance(task)


def _one(
    place: _Place, agent: Agent, files: tuple[Path, Path | None], on_step: Callable[[Step], None]
) -> dict[str, Any]:
    instance, choice = place
    database, kept = files
    with attempt_setup.open_tool_contexts(choice.tree, database) as opened:
        with opened() as desk:
            attempt = agent.propose(instance.issue, desk, seed=0, on_step=on_step)
        with opened() as desk:
            again = replay_attempt(attempt.trajectory, desk)
    raw = trajectory_json.dump_trajectory(attempt.trajectory)
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        kept.joinpath(f"{agent.name}.{instance.id}.json").write_bytes(raw)
    return {
        "agent": agent.name,
        "instance": instance.id,
        "repo": instance.repo,
        "release": choice.release,
        "applies": attempt.patch is not None and applies(attempt.patch, choice.tree),
        "replays": trajectory_json.dump_trajectory(again) == raw,
        **facts(attempt),
    }


def facts(attempt: Attempt) -> dict[str, Any]:
    """What is counted of an attempt (pure)."""
    steps = attempt.trajectory.steps
    calls = Counter(call.name for step in steps for call in step.reply.tool_calls)
    outcomes = [json.loads(step.outcome) for step in steps if step.outcome]
    tokens = attempt.tokens
    return {
        "stop": attempt.stop.value,
        "failure": attempt.trajectory.failure,
        "rounds": attempt.rounds,
        "malformed": sum(step.malformed for step in steps),
        "cut": sum(not step.finished for step in steps),
        "calls": dict(calls),
        "dropped": dict(Counter(one["dropped"] for one in outcomes if "dropped" in one)),
        "patch": attempt.patch is not None,
        "prompt_tokens": tokens.prompt,
        "cached_tokens": tokens.cached,
        "completion_tokens": tokens.completion,
        "seconds": attempt.seconds,
    }


if __name__ == "__main__":
    typer.run(main)
