"""The code graph: cold, after a change, unchanged, and look-ups; beside floors, ctags and aider."""

import json
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.bench.bench import Bench, NotMeasured, Subject
from tests.bench.support.distributions import unpack_release
from tests.bench.support.measurements import Bound, Figure, Pairs, at_most, percentile
from tests.bench.support.peers import NotRun, Peer, interpreter
from tests.bench.support.program_output import output

AIDER = Peer("aider-chat", "0.86.2")
TREES = (("django", "5.2.19"), ("sympy", "1.14.0"))
LOOKUPS = 1000
GREPS = 5
CHANGED = 10
MANY = 100_000
HERE = Path(__file__).parents[1]
ROOT = HERE.parents[1]
TWO = "two processes, one query, byte ranges into SQLite"
_WHO = ("-c", "user.name=bench", "-c", "user.email=bench@example.org")


@dataclass(slots=True)
class _Seen:
    """Runs of one tree, by what ran; ours in several circumstances."""

    runs: dict[str, list[float]]
    facts: dict[str, object]

    def add(self, what: str, value: float) -> None:
        """One more run."""
        self.runs.setdefault(what, []).append(value)

    def beside(self, name: str, anchor: str) -> Pairs:
        """Ours and an anchor, round by round; nothing beside where the anchor did not run."""
        return Pairs(self.runs[name], self.runs.get(anchor, []))


def measure(bench: Bench) -> list[Figure]:
    """Both distributions, every round in turn; then one tree of very many files."""
    figures = []
    for name, release in TREES:
        try:
            tree = unpack_release(name, release, bench.peers, bench.scratch)
        except subprocess.CalledProcessError as error:
            raise NotMeasured(f"{name} {release} can't be had from the package index") from error
        seen = _rounds(bench, tree)
        figures += _figures(f"{name.capitalize()} {release}", seen)
        shutil.rmtree(tree)
    return [*figures, *_many(bench)]


def _rounds(bench: Bench, tree: Path) -> _Seen:
    seen = _Seen({}, {})
    repository = bench.scratch / f"{tree.name}-repository"
    shutil.copytree(tree, repository, symlinks=True)
    _commit(repository)
    kept = bench.scratch / f"{tree.name}.sqlite"
    _ours(repository, kept)
    for number in range(bench.scale.rounds):
        bench.step(f"{tree.name}, round {number + 1}")
        _cold(bench, tree, seen, number)
        _aider(bench, tree, seen)
        _change(repository, number)
        changed = _ours(repository, kept)
        seen.add("changed", changed["seconds"])
        unchanged = _ours(repository, kept, LOOKUPS)
        seen.add("unchanged", 1000 * unchanged["seconds"])
        seen.add("look-up", percentile(unchanged["lookups"], 0.95))
        seen.add("look-up p50", percentile(unchanged["lookups"], 0.5))
        seen.add("grep", _grep(repository))
        seen.facts |= {"changed": changed["parsed"], "unchanged": unchanged["parsed"]}
    shutil.rmtree(repository)
    return seen


def _cold(bench: Bench, tree: Path, seen: _Seen, number: int) -> None:
    """The floor and ours on fresh databases, in the other order every time; then ast and ctags."""
    floor, ours = (bench.scratch / f"{tree.name}-{number}-{who}.sqlite" for who in ("floor", "own"))

    def of_floor() -> None:
        seen.add("floor", _program("floor_codegraph.py", tree, floor)["seconds"])

    def of_ours() -> None:
        found = _ours(tree, ours)
        seen.add("cold", found["seconds"])
        seen.add("mb", found["mb"])
        seen.add(
            "size", sum(file.stat().st_size for file in bench.scratch.glob(f"{ours.name}*")) / 1e6
        )
        seen.facts |= {key: found[key] for key in ("entities", "files", "skipped")}

    for run in (of_floor, of_ours)[:: 1 if number % 2 else -1]:
        run()
    seen.add("ast", _program("floor_ast.py", tree)["seconds"])
    if shutil.which("ctags"):
        started = time.perf_counter()
        tags = ["--languages=Python", "--fields=+ne", "-f", str(bench.scratch / "tags")]
        output(["ctags", "-R", *tags, str(tree)], bench.scratch, {})
        seen.add("ctags", time.perf_counter() - started)


def _aider(bench: Bench, tree: Path, seen: _Seen) -> None:
    try:
        python = interpreter(AIDER, bench.peers)
    except NotRun as reason:
        seen.facts["aider"] = f"not run: {reason}"
        return
    for what in ("aider", "aider warm"):
        found = _program("peer_aider.py", tree, python=python)
        seen.add(what, found["seconds"] * (1000 if what == "aider warm" else 1))
    for cache in tree.glob(".aider*"):
        shutil.rmtree(cache)


def _figures(name: str, seen: _Seen) -> list[Figure]:
    facts = seen.facts
    count = f"{facts['files']:,} files, {facts['entities']:,} entities, {facts['skipped']} left out"
    aider = f"aider {AIDER.release}, its tags"
    why = str(facts.get("aider", aider))
    looked_up = "search_tool: a name to the first page of all found with source, p95"

    def figure(
        id_: str, what: str, unit: str, runs: str, anchor: str = "", **more: object
    ) -> Figure:
        pairs = seen.beside(runs, anchor)
        said = str(more.pop("said", anchor))
        return Figure(
            f"{id_} {name}", what, unit, tuple(pairs.ours), said, tuple(pairs.beside), **more
        )

    def cold(id_: str, anchor: str, peer: str, asked: Bound | None) -> Figure:
        what = "cold index of its Python files"
        return figure(id_, what, "s", "cold", anchor, said=peer, ratio_asked=asked, note=count)

    return [
        cold("I1", "floor", TWO, at_most(1.3)),
        cold("I1 ast", "ast", "Python's ast, one process", at_most(0.5)),
        cold("I1 ctags", "ctags", "universal-ctags", None),
        cold("I2", "aider", why, at_most(0.2)),
        figure(
            *("I3", f"a commit that changes {CHANGED} files", "s", "changed", "cold"),
            said="ours, cold",
            ratio_asked=at_most(0.05),
            note=f"{facts['changed']} files parsed",
        ),
        figure(
            *("I4", "an unchanged commit, opening included", "ms", "unchanged", "aider warm"),
            said=f"{why}, warm",
            asked=at_most(100),
            note=f"{facts['unchanged']} files parsed",
        ),
        figure(
            *("I5", looked_up, "ms", "look-up", "grep"),
            said="git grep, median",
            asked=at_most(1),
            note=f"p50 {min(seen.runs['look-up p50']):.3f} ms",
        ),
        figure("I6", "peak memory of the largest process", "MB", "mb", asked=at_most(80)),
        figure("I6 size", "the index on disk", "MB", "size", asked=at_most(21)),
    ]


def _many(bench: Bench) -> list[Figure]:
    """A tree of very many small files in one directory of many."""
    bench.step(f"{MANY:,} files")
    count = MANY if bench.scale.rounds > 1 else MANY // 20
    tree, database = bench.scratch / "many", bench.scratch / "many.sqlite"
    for number in range(count):
        folder = tree / str(number // 1000)
        if number % 1000 == 0:
            folder.mkdir(parents=True)
        (folder / f"m{number}.py").write_text(f"def f{number}(x):\n    return x + {number}\n")
    cold, again = _ours(tree, database), _ours(tree, database)
    shutil.rmtree(tree)
    note = f"{cold['mb']:.0f} MB the largest process, {cold['entities']:,} entities; again: {again['seconds']:.1f} s"
    return [
        Figure("I7", f"cold index of {count:,} small files", "s", (cold["seconds"],), note=note)
    ]


def _ours(tree: Path, database: Path, lookups: int = 0) -> dict:
    command = [
        sys.executable,
        "-m",
        "tests.bench.programs.indexing",
        str(tree),
        str(database),
        str(lookups),
    ]
    return json.loads(output(command, ROOT, {}).splitlines()[-1])


def _program(script: str, *arguments: Path, python: Path | None = None) -> dict:
    command = [str(python or sys.executable), str(HERE / "programs" / script), *map(str, arguments)]
    return json.loads(output(command, HERE.parent, {}).splitlines()[-1])


def _change(repository: Path, number: int) -> None:
    """Ten files, evenly spread, get one more function each, and are committed."""
    files = sorted(repository.rglob("*.py"))
    for file in files[number :: len(files) // CHANGED][:CHANGED]:
        with file.open("a") as end:
            end.write(f"\n\ndef added_{number}():\n    return {number}\n")
    _commit(repository)


def _commit(repository: Path) -> None:
    for arguments in (["init", "-q"], ["add", "-A", "-f"], [*_WHO, "commit", "-qm", "a commit"]):
        subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)


def _grep(repository: Path) -> float:
    """The median, in ms, of finding where a name is defined."""
    times = []
    for number in range(GREPS):
        pattern = rf"^\s*(async def|def|class) added_{number}\b"
        started = time.perf_counter()
        subprocess.run(
            ["git", "grep", "-nE", pattern, "--", "*.py"],
            cwd=repository,
            check=False,
            capture_output=True,
        )
        times.append(1000 * (time.perf_counter() - started))
    return percentile(times, 0.5)


SUBJECT = Subject(
    "codegraph",
    "Source distributions from the package index, Python files only, so that all read the same. Ours, the floor and ast are"
    " timed inside their process without imports, reading processes included; aider likewise; ctags as a whole. Ours hashes"
    " every file, keeps dotted names and signatures, and survives what hangs or kills a parser; ten-file and unchanged commits"
    " are those of a git repository. Look-ups are the agents' search_tool, its first page, for 1,000 distinct names drawn by chance.",
    measure,
)
