"""Runs to report on: groups of four on eight issues, judged by somebody who is often right."""

import random
from dataclasses import replace

from model.domain import EngineInfo, PatchId, Vote, VoteCount
from model.evaluation.judged_group import dump_line
from model.evaluation.report.series import build_sets
from tests.model.evaluation.builders import make_judged_group

ENGINE = EngineInfo("local_transformers", "tiny", "f0")
NAMES = tuple(PatchId(f"candidate-{at}") for at in range(1, 5))


def seat_vote(correct, seats=NAMES):
    """A vote over seats; None could not be read."""
    return Vote(0, tuple(seats), None if correct is None else frozenset(correct), "so I saw")


def build_group(issue, verifier="r4p", *, votes=0, repo="octo/app", similarity=0.5, seed=0):
    """Four patches of one issue; with votes, each vote over another order."""
    chance = random.Random(f"{issue} {verifier} {seed}")
    truth = random.Random(issue)
    labels = [truth.random() < 0.5 for _ in NAMES]
    right = [chance.random() < 0.75 for _ in NAMES]
    pairs = [
        (chance.uniform(0.6, 1) if label == good else chance.uniform(0, 0.4), label)
        for label, good in zip(labels, right, strict=True)
    ]
    cast = [
        seat_vote([one for one in NAMES if chance.random() < 0.5], chance.sample(NAMES, 4))
        for _ in range(votes)
    ]
    made = make_judged_group(issue, *pairs, verifier=verifier, votes=cast, asked=votes)
    counts = [
        VoteCount(yes := sum(one in vote.correct for vote in cast), votes - yes) for one in NAMES
    ]
    patches = [
        replace(patch, edited_lines=chance.randrange(40), votes=count)
        for patch, count in zip(made.patches, counts, strict=True)
    ]
    key = replace(made.key, engine=ENGINE, votes=votes)
    return replace(made, key=key, repo=repo, similarity=similarity, patches=tuple(patches))


def build_run(verifier="r4p", *, issues=8, **details):
    """A whole run."""
    similarities = (0.1, 0.3, 0.5, 0.7, 0.9)
    return [
        build_group(f"octo__app-{at}", verifier, similarity=similarities[at % 5], **details)
        for at in range(issues)
    ]


def write_run(path, *runs):
    """The run file at `path`."""
    path.write_bytes(b"".join(dump_line(one) + b"\n" for groups in runs for one in groups))
    return path


def build_set(*runs, name="s"):
    """One set that these runs are of."""
    return build_sets([(f"{name}.{at}.jsonl", judged) for at, judged in enumerate(runs)])


def list_rows(section, table=0):
    return section.tables[table].cells
