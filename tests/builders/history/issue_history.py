"""An issue with four rivals to whom most of what happens to pull requests has happened."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta

from sqlalchemy import Connection, insert, update

from app.db.store.issues import evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult, patch_id
from app.db.store.outcomes import outcome_events, outcomes
from app.db.tables.schema import candidates as candidate_table
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import installations, repositories
from app.outcomes import Details, EventKind, OutcomeEvent
from app.values.identifiers import CommitSha, EvaluationId, IssueNumber, PullNumber, RepositoryId
from model.calibration.calibration import Evidence
from model.domain import Coverage, PatchVerdict, Verdict, VoteCount
from tests.builders.github.pull_requests import build_pull

REPOSITORY = RepositoryId(70)
ISSUE = IssueNumber(3)
MERGED, SUPERSEDED, REJECTED, OPEN = (PullNumber(number) for number in (12, 13, 14, 15))
BASE = CommitSha("b" * 40)
START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TEXT = ("Area is wrong", "It adds where it should multiply.")
MAINTAINER = {"actor": "mia", "actor_id": 1, "permission": "maintain"}
CONTRIBUTOR = {"actor": "cleo", "actor_id": 2, "permission": "read"}
CI = {"actor": "ci[bot]", "permission": "app"}
_DETAILS = frozenset(one.name for one in fields(Details))
ENGINE = {"name": "vLLM", "model": "R4P-32B", "prompt_fingerprint": "9f3c1a77aa52"}


def head(pull: int, state: int = 1) -> CommitSha:
    """The pull request's commit at its first, second, … state."""
    return CommitSha(f"{pull:038x}{state:02x}")


def diff(pull: int, state: int = 1) -> str:
    return f"diff of {pull} at {state}"


@dataclass(frozen=True)
class Life:
    """What happens in one repository, by days after the first verdict."""

    connection: Connection
    texts: Mapping[tuple[int, int], str] = field(default_factory=dict)
    """Diffs of pull requests at their states, where it matters what they say."""

    def settle(self, name: str = "octo/cat", config: str | None = None) -> int:
        """The repository, and the issue with its rivals; returns our number of the issue."""
        self.connection.execute(insert(installations).values(id=7, account="octo"))
        self.connection.execute(
            insert(repositories).values(
                id=REPOSITORY, installation_id=7, full_name=name, config_text=config
            )
        )
        return self.ask(ISSUE, (MERGED, SUPERSEDED, REJECTED, OPEN))

    def ask(self, issue: int, pulls: Sequence[int]) -> int:
        """One more issue with its rivals; returns our number of it."""
        rows = [build_pull(PullNumber(pull), "open", head(pull), BASE, "main") for pull in pulls]
        groups.upsert_pulls(self.connection, REPOSITORY, rows)
        group = groups.upsert_group(self.connection, REPOSITORY, IssueNumber(issue), TEXT, "open")
        groups.save_links(self.connection, group, [(row.number, "closes") for row in rows])
        return group

    def judge(
        self,
        group: int,
        verdicts: dict[tuple[int, int], Verdict],
        day: float,
        mode: str = "advisory",
        model: str = ENGINE["model"],
    ) -> EvaluationId:
        """One verdict on pull requests, each at a state of it, published at once."""
        submitted = tuple(
            Candidate(PullNumber(pull), head(pull, state), BASE, text, 1)
            for pull, state in verdicts
            for text in [self.texts.get((pull, state), diff(pull, state))]
        )
        new = NewEvaluation(group, "issue", mode, 4, *TEXT, submitted)
        number = evaluations.create(self.connection, REPOSITORY, new).id
        opinions = tuple(_opinion(pull, verdict) for (pull, _), verdict in verdicts.items())
        verified = VerificationResult(
            _document(opinions, model),
            opinions,
            (),
            "r4p",
            {one.id: Evidence(one.score, 4) for one in opinions},
        )
        evaluations.save_verdict(self.connection, number, verified)
        at = START + timedelta(days=day)
        self.connection.execute(
            update(evaluation_table)
            .where(evaluation_table.c.id == number)
            .values(state="published", verified_at=at, published_at=at)
        )
        for pull, state in verdicts:
            self.connection.execute(
                update(candidate_table)
                .where(candidate_table.c.head_sha == head(pull, state))
                .values(created_at=at)
            )
        return number

    def happen(
        self, kind: EventKind, pull: int | None, day: float, *, nth: int = 1, **about: object
    ) -> None:
        """One raw event at the pull request's nth state, and what is derived from it."""
        details = {name: about.pop(name) for name in list(about) if name in _DETAILS}
        at = {"head": head(pull, nth)} if pull else {}
        named = {} if pull is None else {"pull": PullNumber(pull)}
        event = OutcomeEvent(
            kind,
            f"{kind}:{pull}:{day}",
            START + timedelta(days=day),
            **{**named, **at, **about},
            details=Details(**details),
        )
        outcome_events.append(self.connection, REPOSITORY, [event])
        touched = outcome_events.find_touched_pulls(self.connection, REPOSITORY, [event])
        outcomes.rederive(self.connection, REPOSITORY, touched)


def live(connection: Connection, config: str | None = None) -> int:
    """Two verdicts and a hundred days; returns our number of the issue."""
    life = Life(connection)
    group = life.settle(config=config)
    right, wrong = Verdict.CORRECT, Verdict.INCORRECT
    life.judge(group, {(MERGED, 1): right, (SUPERSEDED, 1): right, (REJECTED, 1): wrong}, day=0)
    for pull, state in ((MERGED, "success"), (SUPERSEDED, "failure")):
        told = {"head": head(pull), "state": state, "about": "ci", **CI}
        life.happen(EventKind.CI_CONCLUDED, pull, 0.1, **told)
    asked = {"state": "changes_requested", **MAINTAINER}
    life.happen(EventKind.REVIEW_SUBMITTED, MERGED, 1, about="1", **asked)
    life.happen(EventKind.REVIEW_SUBMITTED, REJECTED, 1.2, about="2", **asked)
    life.happen(EventKind.HEAD_MOVED, MERGED, 2, nth=2, by_author=True, **CONTRIBUTOR)
    life.judge(group, {(MERGED, 2): right, (REJECTED, 1): wrong, (OPEN, 1): right}, day=2.5)
    merge = {"base": BASE, "commit": "e" * 40, **MAINTAINER}
    life.happen(EventKind.PULL_MERGED, MERGED, 3, nth=2, **merge)
    life.happen(EventKind.PULL_CLOSED, SUPERSEDED, 3.1, **MAINTAINER)
    life.happen(EventKind.PULL_CLOSED, REJECTED, 20, **MAINTAINER)
    for days, share in ((7, 1.0), (30, 0.9), (90, 0.8)):
        life.happen(EventKind.SURVIVAL, MERGED, 3 + days, nth=2, days=days, share=share)
    return group


def _document(opinions: Sequence[PatchVerdict], model: str) -> dict[str, object]:
    """What is read of a verdict's document; who writes it for people holds more."""
    return {
        "engine": ENGINE | {"model": model},
        "patches": [{"id": one.id, "verdict": one.verdict.value} for one in opinions],
        "votes": {"asked": 4, "valid": 4},
        "seconds": {"total": 2.5},
    }


def _opinion(pull: int, verdict: Verdict) -> PatchVerdict:
    votes = VoteCount(3, 1) if verdict is Verdict.CORRECT else VoteCount(1, 3)
    return PatchVerdict(
        patch_id(pull), verdict, votes, "It was so.", Coverage(1, 1), score=votes.share
    )
