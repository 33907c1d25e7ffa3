"""A history: many issues that were judged long ago, and what became of their pull requests."""

from datetime import UTC, datetime, timedelta

from sqlalchemy import insert, update

from app.db.store.issues import evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult, patch_id
from app.db.store.outcomes import outcome_events, outcomes
from app.db.tables.schema import candidates as candidate_table
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import installations, repositories
from app.outcomes import Details, EventKind, OutcomeEvent
from app.values.identifiers import CommitSha, IssueNumber, PullNumber
from model.calibration import evidence
from model.calibration.calibration import Evidence
from model.domain import Coverage, PatchVerdict, Verdict, VoteCount
from tests.builders.github.pull_requests import build_pull

BASE = CommitSha("b" * 40)
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
FIRST_PULL = 5_000
"""Pull requests of a history are numbered from here, beyond any that a test opens."""


def settle(connection, repository, installation=7, *, training=None):
    """A repository to live in. `training` is its consent; None: it has no settings file."""
    connection.execute(insert(installations).values(id=installation, account="octo"))
    connection.execute(
        insert(repositories).values(
            id=repository,
            installation_id=installation,
            full_name="octo/cat",
            config_text=training and f"version: 1\ntraining: {training}\n",
        )
    )


def live(connection, repository, judge, issues=80, *, wrong_votes=20, first=0, person=None):
    """Issues with one merged pull request each, of which every second is reverted.

    Votes told which, but for every `wrong_votes`-th of them, which said the opposite; who asks no language model believed
    as much without a vote. `first`: so many were lived before. `person`: GitHub's id of
    the one who merges and reverts.
    """
    for number in range(first, first + issues):
        pull = PullNumber(FIRST_PULL + number)
        is_good = number % 2 == 0
        believed = is_good if (number // 2) % wrong_votes else not is_good
        _save_judgement(connection, repository, judge, pull, believed=believed)
        _save_merge(connection, repository, pull, is_good=is_good, person=person)


def _save_judgement(connection, repository, judge, pull, *, believed):
    head = CommitSha(f"{pull:040x}")
    groups.upsert_pulls(connection, repository, [build_pull(pull, "merged", head, BASE, "main")])
    text = (f"Issue of {pull}", "It fails.")
    issue = IssueNumber(pull + 100_000)
    group = groups.upsert_group(connection, repository, issue, text, "closed")
    groups.save_links(connection, group, [(pull, "closing")])
    candidate = Candidate(pull, head, BASE, f"diff of {pull}", 1)
    new = NewEvaluation(group, "issue", "advisory", 2, *text, (candidate,))
    evaluation = evaluations.create(connection, repository, new).id
    verdict = Verdict.CORRECT if believed else Verdict.INCORRECT
    name = patch_id(pull)
    if judge.engine.name == evidence.CONSENSUS:
        votes, score = VoteCount(), (0.5 if believed else 0.2) + pull % 7 / 35
        known = Evidence(consensus=score)
    else:
        votes = VoteCount(2, 0) if believed else VoteCount(0, 2)
        score = votes.share
        known = evidence.build_vote_evidence(votes, score, 0.0, 0.4 + pull % 7 / 35, judge.verifier)
    said = PatchVerdict(name, verdict, votes, "It was so.", Coverage(1, 1), score=score)
    engine = {field: getattr(judge.engine, field) for field in ("name", "model")}
    engine["prompt_fingerprint"] = judge.engine.prompt_fingerprint
    verified = VerificationResult({"engine": engine}, (said,), (), judge.verifier, {name: known})
    evaluations.save_verdict(connection, evaluation, verified)
    connection.execute(
        update(evaluation_table)
        .where(evaluation_table.c.id == evaluation)
        .values(state="published", verified_at=START, published_at=START)
    )
    collected = update(candidate_table).where(candidate_table.c.head_sha == head)
    connection.execute(collected.values(created_at=START))


def _save_merge(connection, repository, pull, *, is_good, person):
    head = CommitSha(f"{pull:040x}")
    merge = OutcomeEvent(
        EventKind.PULL_MERGED,
        f"merged:{repository}:{pull}",
        START + timedelta(days=1),
        pull=pull,
        actor_id=person,
        head=head,
        details=Details(base=BASE, commit=f"{pull:x}".rjust(40, "c")),
    )
    revert = OutcomeEvent(
        EventKind.REVERTED,
        f"reverted:{repository}:{pull}",
        START + timedelta(days=3),
        pull=pull,
        actor_id=person,
        permission="write",
        details=Details(reverter="#1", by_author=True),
    )
    outcome_events.append(connection, repository, [merge] if is_good else [merge, revert])
    outcomes.rederive(connection, repository, [pull])
