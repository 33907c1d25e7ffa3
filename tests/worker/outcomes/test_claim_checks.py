"""Commits that say what they revert or contain: a lie changes no label, and the truth counts."""

import itertools
from functools import partial

import pytest

from app.github.endpoints import build_endpoints
from app.jobs.outcome_jobs import CheckClaims
from app.values.identifiers import PullNumber
from tests.builders.github.local_github import connect
from tests.builders.job_attempts import carry_out, waiting
from tests.worker.outcomes.judged_repository import FIX, ORIGINAL, OTHER_FIX, JudgedRepository
from worker.git.checkout import Checkouts
from worker.git.hardened_git import GitUnreachable
from worker.outcomes import claim_checks
from worker.outcomes.claim_checks import check_claims

pytestmark = pytest.mark.services
NUMBERS = itertools.count(1)


@pytest.fixture
def world(standin, database):
    return JudgedRepository(standin, database, f"claims-{next(NUMBERS)}")


@pytest.fixture
def checking(world, tmp_path):
    checkouts = Checkouts(tmp_path, build_endpoints(world.standin.url))
    with connect(world.standin.url, app_id=world.app.app_id, key=world.app.private_key) as github:
        yield partial(check_claims, github, checkouts)


def check(world, checking, pull):
    """Record what GitHub tells, run the check that was planned, and return the outcomes of a pull request."""
    world.record()
    job = CheckClaims(world.installation, world.id, PullNumber(pull))
    assert job in waiting(world.database)
    world.do(checking, job)
    return [(kind, reason) for number, kind, reason, _ in world.list_outcomes() if number == pull]


def merge_stranger(world, title, *versions, method="merge"):
    """Let a maintainer merge a stranger's pull request, whose commits make these files."""
    first, *later = versions
    pull = world.repo.open_pr(title, author="stranger", files=first).number
    for files in later:
        world.repo.push(pull, files=files)
    world.repo.merge(pull, user="maintainer", method=method)
    return pull


@pytest.mark.parametrize("method", ["merge", "squash", "rebase"])
@pytest.mark.parametrize(
    ("versions", "is_revert"),
    [
        pytest.param([{"notes.py": "seen = 1\n"}], False, id="another patch"),
        pytest.param([{"area.py": FIX + "\n"}], False, id="the same file"),
        pytest.param([{"area.py": ORIGINAL}, {"area.py": FIX}], False, id="undone at once"),
        pytest.param([{"area.py": ORIGINAL}], True, id="the inverse patch"),
    ],
)
def test_a_strangers_commit_reverts_only_by_its_patch(world, checking, method, versions, is_revert):
    first = world.first.number
    world.repo.merge(first, user="maintainer")
    merge_stranger(world, f"Reverts #{first}", *versions, method=method)
    # Both may fall into one second, and GitHub's times have no parts of it.
    kinds = sorted(kind for kind, _ in check(world, checking, first))
    assert kinds == (["merged", "reverted"] if is_revert else ["merged"])


@pytest.mark.parametrize(
    ("text", "has_landed"),
    [
        pytest.param(FIX, False, id="another patch"),
        pytest.param(OTHER_FIX, True, id="the same patch"),
    ],
)
def test_a_strangers_commit_carries_a_pull_request_only_by_its_patch(
    world, checking, text, has_landed
):
    second = world.second.number
    merge_stranger(world, f"Guard (#{second})", {"area.py": text})
    world.repo.close(second, user="maintainer")
    ((_, reason),) = check(world, checking, second)
    assert (reason == "landed_indirectly") is has_landed


def test_a_claim_that_git_cannot_check_stays_unknown(world, checking, tmp_path):
    first = world.first.number
    world.repo.merge(first, user="maintainer")
    merge_stranger(world, f"Reverts #{first}", {"area.py": ORIGINAL})
    world.record()
    job = CheckClaims(world.installation, world.id, PullNumber(first))
    nowhere = Checkouts(tmp_path / "nowhere", build_endpoints("http://127.0.0.1:9"))
    with pytest.raises(GitUnreachable):
        carry_out(world.database, partial(check_claims, checking.args[0], nowhere), job)
    assert [kind for _, kind, *_ in world.list_outcomes()] == ["merged"]


def test_newer_claims_hide_no_older_true_one(world, checking, monkeypatch):
    """Half of the newer claims are false, and the others are about empty patches, which stay unknown."""
    monkeypatch.setattr(claim_checks, "MOST_CLAIMS", 2)
    first = world.first.number
    world.repo.merge(first, user="maintainer")
    merge_stranger(world, f"Reverts #{first}", {"area.py": ORIGINAL})
    for number in range(2):
        name = f"notes-{number}.py"
        merge_stranger(world, f"Reverts #{first}", {name: "seen = 1\n"}, method="squash")
        undone = ({"a": "1\n"}, {"a": None})
        merge_stranger(world, f"Reverts #{first}", *undone, method="squash")
    world.record()
    skipped = []
    while checks := [job for job in waiting(world.database) if isinstance(job, CheckClaims)]:
        assert skipped or "reverted" not in list_kinds(world)
        carry_out(world.database, checking, *checks)
        skipped += [job.skipped for job in checks]
    assert "reverted" in list_kinds(world)
    assert skipped[-1] > 0


def list_kinds(world):
    return [kind for _, kind, *_ in world.list_outcomes()]
