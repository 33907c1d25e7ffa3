"""Check with git whether commits do what their messages claim: revert or contain a pull request."""

import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final

from app.db.session import transaction
from app.db.store.issues import groups
from app.db.store.outcomes import outcomes
from app.github.http.auth import Purpose, Scope
from app.github.http.connection import GitHub
from app.jobs.job import Planned
from app.jobs.outcome_jobs import CheckClaims
from app.outcomes import EventKind, OutcomeEvent
from app.outcomes.claims import build_check, find_ending, find_unchecked_claims
from app.values.identifiers import RepositoryRef
from model.voting.selection import fingerprint_edit
from worker.git.checkout import BUSY_SECONDS, CheckoutBusy, Checkouts, fetch_until
from worker.git.hardened_git import Git, GitError, GitUnreachable
from worker.git.patches import DIFF, BaseNotFound, find_merge_base
from worker.outcomes.record_event import record_outcomes
from worker.outcomes.survival import compare_commits, find_patch_range
from worker.queue.context import Context
from worker.queue.errors import Postponed

log = logging.getLogger(__name__)

MOST_CLAIMS: Final = 20
"""Claims that one job checks, the newest ones. A hostile push can hold thousands, so another job checks the next."""
NEXT_SECONDS: Final = 60.0
_MAJORITY: Final = 0.5
"""A change is on the default branch while at least this share of its lines is there."""
_TIP: Final = "refs/r4p/claims/tip"

_Range = tuple[str, str]
"""The commits before and after a change."""


def check_claims(github: GitHub, checkouts: Checkouts, context: Context, job: CheckClaims) -> None:
    """Compare the newest unchecked claims about the pull request of `job` with its patch, and store the answers.

    Another job checks the next ones. A claim stays unknown when git cannot read the commits or a patch. Raises GitUnreachable, and Postponed when another
    process uses the bare repository.
    """
    with transaction(context.database) as connection:
        stored = groups.load_active_repository(connection, job.repository)
        history = outcomes.load_history(connection, job.repository, job.pull)
    unchecked = find_unchecked_claims(history)[::-1][job.skipped :]
    ending, claims = find_ending(history), unchecked[:MOST_CLAIMS]
    if stored is None or ending is None or not claims:
        return
    try:
        events = list(_check_each(github, checkouts, stored.ref, job, ending, claims))
    except CheckoutBusy as error:
        raise Postponed(str(error), after_seconds=BUSY_SECONDS) from error
    except GitUnreachable:
        # git does not say whether the token was the cause.
        github.tokens.forget(Scope.for_repository(stored.ref, Purpose.READ))
        raise
    following = replace(job, skipped=job.skipped + len(claims) - len(events))
    with context.transaction() as connection:
        record_outcomes(connection, job.repository, events)
        if len(unchecked) > len(claims):
            context.enqueue(connection, [Planned(following, NEXT_SECONDS)])


def _check_each(
    github: GitHub,
    checkouts: Checkouts,
    repository: RepositoryRef,
    job: CheckClaims,
    ending: OutcomeEvent,
    claims: tuple[OutcomeEvent, ...],
) -> Iterator[OutcomeEvent]:
    token = github.tokens.get_token(Scope.for_repository(repository, Purpose.READ))
    for claim in claims:
        try:
            holds = check_claim(checkouts, repository, token, ending, claim)
        except (CheckoutBusy, GitUnreachable):
            raise
        except GitError as error:
            log.warning("a claim about #%s stays unknown: %s", job.pull, error)
            continue
        if holds is not None:
            yield build_check(claim, job.repository, job.pull, datetime.now(UTC), holds=holds)


def check_claim(
    checkouts: Checkouts,
    repository: RepositoryRef,
    token: str | None,
    ending: OutcomeEvent,
    claim: OutcomeEvent,
) -> bool | None:
    """Return True if git proves `claim`, False if git refutes it, and None if a patch has no readable text.

    A claim holds when its change is the patch of the pull request that `ending` ended, or the inverse for a revert. The
    change must also be on the default branch still, because a later commit could undo it. `token` gives access to the
    repository; None for a public one. Raises GitError.
    """
    specs = [f"+HEAD:{_TIP}", *_list_refspecs("ended", ending), *_list_refspecs("claim", claim)]
    with checkouts.open_repository(repository) as git:

        def read() -> bool | None:
            ended_range = _find_ended_range(git, ending)
            before, after = _find_claim_range(git, claim)
            undoes = claim.kind == EventKind.REVERTED
            claimed = _read_edit(git, after, before) if undoes else _read_edit(git, before, after)
            ended = _read_edit(git, *ended_range)
            if claimed is None or ended is None:
                return None
            return claimed == ended and _is_on_default_branch(git, before, after)

        return fetch_until(git, checkouts.build_remote(repository, token), specs, read)


def _list_refspecs(name: str, event: OutcomeEvent) -> Iterator[str]:
    """Yield what to fetch for the ending of a pull request, or for a claim of a commit or a pull request."""
    source = str(event.head)
    if event.details.base:
        number = (event.details.reverter or f"#{event.pull}").removeprefix("#")
        source = f"refs/pull/{int(number)}/head"
        yield f"+{event.details.base}:{_get_ref(name, 'base')}"
    yield f"+{source}:{_get_ref(name, 'head')}"
    if event.kind == EventKind.PULL_MERGED and event.details.commit:
        yield f"+{event.details.commit}:{_get_ref(name, 'merge')}"


def _get_ref(name: str, part: str) -> str:
    return f"refs/r4p/claims/{name}/{part}"


def _find_ended_range(git: Git, ending: OutcomeEvent) -> _Range:
    head, base, merge = (_get_ref("ended", part) for part in ("head", "base", "merge"))
    if ending.kind == EventKind.PULL_MERGED and ending.details.commit:
        return find_patch_range(git, str(ending.head), head, base, merge)
    return _find_pull_range(git, ending, head, base)


def _find_claim_range(git: Git, claim: OutcomeEvent) -> _Range:
    head, base = (_get_ref("claim", part) for part in ("head", "base"))
    if claim.details.base:
        return _find_pull_range(git, claim, head, base)
    if not git.is_success("rev-parse", "--verify", "--quiet", f"{head}^1"):
        raise BaseNotFound(f"{claim.head}: its parent was not fetched")
    return git.text("rev-parse", f"{head}^1"), git.text("rev-parse", f"{head}^{{commit}}")


def _find_pull_range(git: Git, event: OutcomeEvent, head_ref: str, base_ref: str) -> _Range:
    """Return the pull request's merge base and head, from two refs that were fetched for it."""
    if git.text("rev-parse", f"{head_ref}^{{commit}}") != event.head:
        raise GitError(f"the pull request has another head than {event.head}")
    merge_base = find_merge_base(git, base_ref, head_ref)
    if merge_base is None:
        raise GitError(f"{event.head} has no commit in common with its base")
    return merge_base, str(event.head)


def _read_edit(git: Git, before: str, after: str) -> str | None:
    """Return the fingerprint of a change, wherever it stands; None for an empty or unreadable one."""
    diff = git.output(*DIFF, "--unified=3", before, after, "--")
    return fingerprint_edit(diff.decode("utf-8", "surrogateescape"))


def _is_on_default_branch(git: Git, before: str, after: str) -> bool:
    """Return whether most lines that a change added are on the default branch, and most deleted ones are not."""
    kept = compare_commits(git, before, after, _TIP).share
    returned = compare_commits(git, after, before, _TIP).share
    return (kept is None or kept >= _MAJORITY) and (returned is None or returned < _MAJORITY)
