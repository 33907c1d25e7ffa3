"""A judged group as the pages show it: an issue, rival patches, votes, evidence and a verdict document."""

from datetime import UTC, datetime

from sqlalchemy import insert, text, update

from app.db.store.issues import evaluations, groups
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation, VerificationResult, patch_id
from app.db.tables.schema import evaluations as evaluation_table
from app.db.tables.schema import installations, repositories
from app.values.identifiers import CommitSha, IssueNumber, PullNumber, RepositoryId
from model import verdict_json
from model.domain import (
    CiResult,
    CiState,
    Coverage,
    EngineInfo,
    GroupVerdict,
    ObservedEvidence,
    Patch,
    PatchVerdict,
    RegressionResult,
    ReproductionResult,
    Tokens,
    Verdict,
    Vote,
    VoteCount,
)
from model.rivals.differences import find_differences
from model.verdict_json import Calibration, Subject
from tests.builders.github.pull_requests import build_pull

BASE = CommitSha("b" * 40)
JUDGED_AT = datetime(2026, 11, 20, 9, tzinfo=UTC)
ENGINE = EngineInfo("openai_compatible", "qwen-32b", "0" * 12)


def diff_of(body, path="shop/cart.py"):
    """A patch of one function."""
    lines = "".join(f"+    {line}\n" for line in body.splitlines())
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
        f"@@ -1,2 +1,{1 + len(body.splitlines())} @@ def total(items):\n def total(items):\n"
        f"-    return sum(item.price for item in items)\n{lines}"
    )


RIVALS = {
    12: (
        "mona",
        Verdict.CORRECT,
        0.93,
        diff_of("prices = [item.price for item in items]\nreturn sum(prices, start=Money(0))"),
    ),
    15: (
        "hubot",
        Verdict.INCORRECT,
        0.08,
        diff_of("if not items:\n    return 0\nreturn sum(item.price for item in items)"),
    ),
    17: ("defunkt", Verdict.UNSURE, 0.52, diff_of("return Money.sum(items)")),
}
"""Author, verdict, probability and diff by pull request."""
_RESULT = """
with event as (
    insert into outcome_events (source, repository_id, pull_number, kind, occurred_at)
    values ('p' || :pull, :repository, :pull, 'x', now() - interval '20 days') returning id)
insert into outcomes (repository_id, pull_number, kind, head_sha, event_id, rule_version)
select :repository, :pull, :kind, :head, id, 1 from event
"""


def save_repository(connection, installation, repository, full_name, config=None):
    """An installation with one repository."""
    owner = full_name.partition("/")[0]
    connection.execute(insert(installations).values(id=installation, account=owner))
    connection.execute(
        insert(repositories).values(
            id=repository, installation_id=installation, full_name=full_name, config_text=config
        )
    )


def save_group(
    connection, repository, issue=3, title="The total of an empty cart is no Money", rivals=None
):
    """An issue whose pull requests were judged and published; returns the evaluation's id."""
    rivals = rivals or RIVALS
    place = RepositoryId(repository)
    heads = {number: CommitSha(f"{number:040x}") for number in rivals}
    pulls = [
        build_pull(number, "open", heads[number], BASE, "main", author)
        for number, (author, *_) in rivals.items()
    ]
    groups.upsert_pulls(connection, place, pulls)
    words = (title, "`total([])` gives the number 0.")
    group = groups.upsert_group(connection, place, IssueNumber(issue), words, "open")
    groups.save_links(connection, group, [(PullNumber(n), "closes") for n in rivals])
    collected = tuple(
        Candidate(PullNumber(n), heads[n], BASE, diff, 1, strength="closes")
        for n, (*_, diff) in rivals.items()
    )
    new = NewEvaluation(group, "issue", "advisory", 4, *words, collected)
    evaluation = evaluations.create(connection, place, new).id
    evaluations.save_verdict(connection, evaluation, judge(group, issue, title, rivals))
    connection.execute(
        update(evaluation_table)
        .where(evaluation_table.c.id == evaluation)
        .values(state="published", verified_at=JUDGED_AT, published_at=JUDGED_AT)
    )
    return evaluation


def save_results(connection, repository, issues=60):
    """Closed issues from number 1000 on, each with one pull request that was merged, and sometimes reverted."""
    for past in range(issues):
        number, share = 1_000 + past, (past % 10 + 0.5) / 10
        verdict = (
            Verdict.CORRECT if share > 0.6 else Verdict.INCORRECT if share < 0.3 else Verdict.UNSURE
        )
        rivals = {number: ("mona", verdict, share, diff_of(f"return {past}"))}
        save_group(connection, repository, number, f"Issue {past}", rivals)
        is_good = (past * 7 + past // 10 * 3) % 10 < share * 10
        values = {"pull": number, "repository": repository, "head": f"{number:040x}"}
        connection.execute(text(_RESULT), values | {"kind": "merged" if is_good else "reverted"})
        closed = text("update groups set state = 'closed' where issue_number = :pull")
        connection.execute(closed, {"pull": number})


def judge(group, issue, title, rivals):
    """What a verifier said of the rivals, with its document."""
    patches = tuple(
        _build_verdict(n, verdict, share) for n, (_, verdict, share, _) in rivals.items()
    )
    names = tuple(patch.id for patch in patches)
    votes = tuple(
        Vote(seed, names, frozenset(names[: 1 + seed % 2]) if seed < 3 else None, "…", failure=None)
        for seed in range(4)
    )
    verdict = GroupVerdict(
        patches=patches,
        engine=ENGINE,
        votes=votes,
        asked=4,
        partition=(names,),
        tokens=Tokens(9_000, 1_000, 800),
        engine_seconds=11.5,
        total_seconds=12.0,
        differences=find_differences(
            [Patch(patch_id(PullNumber(n)), diff) for n, (*_, diff) in rivals.items()]
        ),
    )
    subject = Subject(title, str(group), "octo/cat", issue)
    calibration = Calibration(1, "2026-11-19T09:00:00Z", 57, 30, 27)
    document = verdict_json.to_json(verdict, subject, verifier="r4p", calibration=calibration)
    return VerificationResult(document, patches, votes, "r4p")


def _build_verdict(number, verdict, probability):
    broken = 2 if verdict is Verdict.INCORRECT else 0
    names = ("test_max_length", "test_label")[:broken]
    evidence = ObservedEvidence(
        regression=RegressionResult(812, broken, names),
        reproduction=ReproductionResult(2, 0 if broken else 2),
        ci=CiResult(CiState.PASSED, 3),
    )
    agreeing = {Verdict.CORRECT: VoteCount(3, 0, 1), Verdict.INCORRECT: VoteCount(0, 3, 1)}
    return PatchVerdict(
        patch_id(PullNumber(number)),
        verdict,
        agreeing.get(verdict, VoteCount(2, 1, 1)),
        f"{agreeing.get(verdict, VoteCount(2, 1, 1)).correct} of 3 readable votes call it correct.",
        Coverage(1, 1),
        probability=probability,
        score=probability,
        evidence=evidence,
    )
