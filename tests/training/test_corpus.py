"""From what the database keeps to pools and datasets: only with consent, as it was first, and nothing that was purged."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update
from typer.testing import CliRunner

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.issues import evaluations, groups, purge
from app.db.store.issues.candidates import Candidate
from app.db.store.issues.evaluations import NewEvaluation
from app.db.store.outcomes import outcome_events, outcomes
from app.db.tables.schema import candidates, installations, repositories
from app.db.tables.schema import evaluations as evaluation_table
from app.outcomes import Details, EventKind, OutcomeEvent
from app.values.identifiers import (
    AlternativeNumber,
    CommitSha,
    InstallationId,
    IssueNumber,
    PullNumber,
    RepositoryId,
)
from model.agents.trajectories.trajectory import StopReason
from model.domain import Issue
from model.protocols import Message
from tests.builders.github.pull_requests import build_pull
from tests.builders.history import judged_history
from tests.builders.patch_pools import build_diff
from tests.model.agents.builders import build_attempt, build_step
from training.commands import datasets
from training.corpus import Corpus
from training.curation.pools import build_labelled_groups
from training.curation.splits import SPLITS
from training.datasets import dataset
from training.datasets.groups import LabelSource

pytestmark = pytest.mark.services

INSTALLATION, REPOSITORY = InstallationId(7), RepositoryId(70)
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
NOW = datetime(2026, 11, 21, tzinfo=UTC)
BASE = CommitSha("b" * 40)
ON = "version: 1\ntraining: on\n"
FIRST = 500
"""The first pull request."""


@pytest.fixture
def full_database(database):
    with transaction(database) as connection:
        judged_history.settle(connection, REPOSITORY, INSTALLATION)
        groups.save_config(connection, REPOSITORY, text=ON, error=None)
        for issue in range(6):
            _add_issue(connection, issue)
    return database


def _add_issue(connection, issue):
    """Of four rivals two were merged, and one of these was taken back; one was pushed to before anybody merged it."""
    opened = START + timedelta(days=10 * issue)
    pulls = [PullNumber(FIRST + 10 * issue + seat) for seat in range(4)]
    rows = [build_pull(pull, "open", _build_head(pull), BASE, "main", "somebody") for pull in pulls]
    groups.upsert_pulls(connection, REPOSITORY, rows)
    for turn, body in enumerate((_write_body(issue), "It was fixed by changing 1 to 2.")):
        text = (f"Issue {issue}", body)
        group = groups.upsert_group(connection, REPOSITORY, IssueNumber(issue + 1), text, "open")
        groups.save_links(connection, group, [(pull, "closing") for pull in pulls])
        listed = tuple(
            _build_candidate(pull, turn if at == 3 else 0) for at, pull in enumerate(pulls)
        )
        new = NewEvaluation(group, "issue", "advisory", 2, *text, listed)
        evaluation = evaluations.create(connection, REPOSITORY, new).id
        read = opened + timedelta(days=turn)
        connection.execute(
            update(evaluation_table)
            .where(evaluation_table.c.id == evaluation)
            .values(created_at=read)
        )
    for heads, day in (([_build_head(pull) for pull in pulls], 0), ([_build_head(pulls[3], 1)], 1)):
        listed = update(candidates).where(candidates.c.head_sha.in_(heads))
        connection.execute(listed.values(created_at=opened + timedelta(days=day)))
    events = [_build_merge(pull, opened) for pull in pulls[:2]] + [_build_revert(pulls[1], opened)]
    outcome_events.append(connection, REPOSITORY, events)
    outcomes.rederive(connection, REPOSITORY, pulls)


def _write_body(issue):
    return " ".join(f"Step {at} of story {issue} fails in part {issue}{at}." for at in range(12))


def _build_head(pull, turn=0):
    return CommitSha(f"{turn}{pull:039x}")


def _build_candidate(pull, turn=0):
    return Candidate(
        pull,
        _build_head(pull, turn),
        BASE,
        build_diff(f"return {pull}, {turn}"),
        1,
        strength="closing",
    )


def _build_merge(pull, opened):
    return OutcomeEvent(
        EventKind.PULL_MERGED,
        f"merged:{pull}",
        opened + timedelta(days=2),
        pull=pull,
        head=_build_head(pull),
        details=Details(base=BASE, commit=f"{pull:x}".rjust(40, "c")),
    )


def _build_revert(pull, opened):
    return OutcomeEvent(
        EventKind.REVERTED,
        f"reverted:{pull}",
        opened + timedelta(days=5),
        pull=pull,
        permission="write",
        details=Details(commit=f"{pull:x}".rjust(40, "c"), reverter="#9999", by_author=True),
    )


def save_config(database, text, error=None):
    with transaction(database) as connection:
        groups.save_config(connection, REPOSITORY, text=text, error=error)


def test_pool_has_the_first_state_of_issue_and_patches(full_database):
    listed = Corpus(full_database).build_pools(NOW)
    assert [pull.issue for pull in listed] == [f"octo/cat#{number}" for number in range(1, 7)]
    first = listed[0]
    assert first.statement == f"Issue 0\n\n{_write_body(0)}"
    assert first.as_of == START
    assert first.source is LabelSource.OUTCOMES
    assert [pull.diff for pull in first.patches] == [
        build_diff(f"return {FIRST + seat}, 0") for seat in range(4)
    ]
    assert {pull.author for pull in first.patches} == {"somebody"}
    merged, reverted, _, changed = first.patches
    assert merged.target > 0.5 > reverted.target
    assert changed.target is None or changed.target < 0.5
    assert merged.outcome_at <= NOW


def _save_attempts(connection, seats):
    """Attempts of the bot's agents at the first issue: the edits of these seats, as agents print diffs."""
    group = groups.find_group(connection, REPOSITORY, IssueNumber(1)).id
    place = Place(REPOSITORY, group, BASE, Issue("It", "fails."))
    for number, (seat, thought) in enumerate(seats, 1):
        diff = build_diff(f"return {FIRST + seat}, 0").replace("@@ -1,2 +1,2 @@", "@@ -9,2 +9,2 @@")
        step = build_step(reply=Message("assistant", thought), answers=())
        attempt = build_attempt(steps=(step,), patch=diff, stop=StopReason.SUBMITTED)
        attempts.save(
            connection, place, AttemptRecord.from_attempt(attempt), AlternativeNumber(number)
        )


def test_pool_has_the_record_of_the_bots_own_attempt_at_the_same_edit(full_database):
    with transaction(full_database) as connection:
        _save_attempts(connection, [(1, "First."), (1, "Again."), (9, "Nobody's.")])
    pools = Corpus(full_database).build_pools(NOW)
    listed = [[patch.trajectory for patch in pool.patches] for pool in pools]
    assert listed == [[None, "[step 1]\nFirst.", None, None], *[[None] * 4] * 5]
    ((exported, *_), _) = build_labelled_groups(pools)
    assert [patch.get("trajectory") for patch in exported["patches"]].count(None) == (
        len(exported["patches"]) - 1
    )


def test_later_outcomes_are_unknown_on_an_earlier_day(full_database):
    (first, *_) = Corpus(full_database).build_pools(START + timedelta(days=3))
    assert [pull.target for pull in first.patches] == [None] * 4


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (None, None),
        ("version: 1\n", None),
        ("version: 1\ntraining: off\n", None),
        ("version: 1\ntraining: export\n", None),
        (ON, "line 2: `training` can't be `of`"),
        ("version: 9\ntraining: on\n", None),
    ],
)
def test_no_pool_is_built_without_consent(full_database, text, error):
    save_config(full_database, text, error)
    assert Corpus(full_database).build_pools(NOW) == []


def test_no_pool_is_built_for_a_suspended_app(full_database):
    with transaction(full_database) as connection:
        connection.execute(update(installations).values(suspended_at=NOW))
    assert Corpus(full_database).build_pools(NOW) == []


def build_dataset(out, *more):
    arguments = (
        "build",
        "--out",
        str(out),
        "--split-by",
        "issue",
        "--test",
        "0",
        "--validation",
        "0",
    )
    return CliRunner().invoke(datasets.app, [*arguments, *more])


def test_purged_or_withdrawn_repository_is_in_no_later_dataset(
    full_database, database_url, tmp_path, monkeypatch
):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    before = build_dataset(tmp_path / "before")
    assert before.exit_code == 0, before.output
    groups_before = dataset.read_split(tmp_path / "before", "train")
    assert {pull.repo for pull in groups_before} == {"octo/cat"}
    assert all(pull.source is LabelSource.OUTCOMES for pull in groups_before)
    with transaction(full_database) as connection:
        connection.execute(
            update(repositories).where(repositories.c.id == REPOSITORY).values(config_text=None)
        )
    taken_back = build_dataset(tmp_path / "after")
    assert taken_back.exit_code == datasets.NOTHING
    assert "`training: on`" in taken_back.output
    save_config(full_database, ON)
    assert build_dataset(tmp_path / "again").exit_code == 0
    with transaction(full_database) as connection:
        purge.purge(connection, INSTALLATION, REPOSITORY)
    assert build_dataset(tmp_path / "after").exit_code == datasets.NOTHING
    assert not (tmp_path / "after").exists()
    assert [pull for name in SPLITS for pull in dataset.read_split(tmp_path / "before", name)]


def test_patches_of_the_database_are_counted_by_their_tests(
    full_database, database_url, monkeypatch
):
    monkeypatch.setenv("R4P_DATABASE_URL", database_url)
    counted = CliRunner().invoke(datasets.app, ["tests", "--outcomes", "--json"])
    assert counted.exit_code == 0, counted.output
    study = json.loads(counted.stdout)
    pools = Corpus(full_database).build_pools(NOW)
    assert study["fixes"] == sum(len(pool.patches) for pool in pools) == 24
    assert (study["qualified"], study["tested"]) == (24 - sum(study["dropped"].values()), 0)
