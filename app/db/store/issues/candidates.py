"""Store candidates: a pull request at one head commit on one base commit, with its patch by content."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Row, Select, Table, select, update
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import candidates, evaluation_candidates, patches
from app.values.identifiers import CommitSha, EvaluationId, PullNumber, RepositoryId
from model.calibration.calibration import Evidence
from model.domain import PatchVerdict
from model.errors import BadDiff
from model.patches.diff import fingerprint


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pull request at one head commit on one base commit, with its diff if the bot could read it."""

    pull: PullNumber
    head_sha: CommitSha
    base_sha: CommitSha
    diff: str | None
    files: int
    unreadable: str | None = None
    """Why `diff` is None."""
    strength: str | None = None
    """How the pull request is linked to the issue, a value of `LinkStrength`; None: not loaded."""
    read_again: bool = False
    """True when the patch may be readable later."""
    normalised_sha256: str | None = None
    """Hash of the patch by its normalised source, so without blank lines and comments; None: every byte counts."""

    @property
    def version(self) -> str:
        """Name of the patch's version, equal for patches with the same normalised source.

        Each head of an unreadable patch is a version of its own.
        """
        if self.normalised_sha256 is not None:
            return self.normalised_sha256
        return self.head_sha if self.diff is None else hash_diff(self.diff)


def find_stored(
    connection: Connection, number: RepositoryId, pull: PullNumber, head: str, base: str
) -> Candidate | None:
    """Return the stored candidate of pull request `pull` in repository `number`, without its link strength.

    `head` and `base` are its commits. The result is None if none is stored, or if the bot should read the patch again.
    """
    row = connection.execute(
        select(candidates, patches.c.diff)
        .outerjoin(patches, patches.c.sha256 == candidates.c.patch_sha256)
        .where(
            candidates.c.repository_id == number,
            candidates.c.pull_number == pull,
            candidates.c.head_sha == head,
            candidates.c.base_sha == base,
            ~candidates.c.read_again,
        )
    ).one_or_none()
    return None if row is None else _build_candidate(row, None)


def save(connection: Connection, number: RepositoryId, candidate: Candidate) -> int:
    """Save or replace a candidate of the repository with the id `number`, with its patch; return its row id."""
    digest = (
        None if candidate.diff is None else save_patch(connection, candidate.diff, corrects=True)
    )
    key = {
        "repository_id": number,
        "pull_number": candidate.pull,
        "head_sha": candidate.head_sha,
        "base_sha": candidate.base_sha,
    }
    values = {
        "patch_sha256": digest,
        "unreadable": candidate.unreadable,
        "files": candidate.files,
        "read_again": candidate.read_again,
        "normalised_sha256": candidate.normalised_sha256,
    }
    statement = (
        insert(candidates)
        .values(**key, **values)
        .on_conflict_do_update(index_elements=list(key), set_=values)
        .returning(candidates.c.id)
    )
    return int(connection.execute(statement).scalar_one())


def save_patch(connection: Connection, diff: str, *, corrects: bool = False) -> str:
    """Save a unified diff, unless the same bytes are stored, and return its SHA-256 in hexadecimal.

    `corrects`: replace a wrong fingerprint of its edit, which a worker that was taken over may have stored before.
    """
    digest = hash_diff(diff)
    data = diff.encode("utf-8", "replace")
    row = {"sha256": digest, "diff": data, "edit": _fingerprint_edit(diff, digest)}
    statement = insert(patches).values(row).on_conflict_do_nothing()
    if corrects:
        is_wrong = patches.c.edit != row["edit"]
        statement = (
            insert(patches)
            .values(row)
            .on_conflict_do_update(
                index_elements=["sha256"], set_={"edit": row["edit"]}, where=is_wrong
            )
        )
    connection.execute(statement)
    return digest


def hash_diff(diff: str) -> str:
    """Return the hexadecimal SHA-256 by which a unified diff is stored (pure)."""
    return hashlib.sha256(diff.encode("utf-8", "replace")).hexdigest()


def _fingerprint_edit(diff: str, digest: str) -> str:
    """Return the fingerprint of a diff's edit wherever it stands; an unreadable diff's own SHA-256."""
    try:
        return fingerprint(diff)
    except BadDiff:
        return digest


def build_opinion_columns(verdict: PatchVerdict, evidence: Evidence) -> dict[str, object]:
    """Convert a verdict on a patch and its evidence to values by column name, for `save_opinion` (pure)."""
    return {
        "verdict": verdict.verdict.value,
        "probability": verdict.probability,
        "votes_correct": verdict.votes.correct,
        "votes_incorrect": verdict.votes.incorrect,
        "votes_none": verdict.votes.none,
        "score": evidence.score,
        "forced_share": evidence.forced_share,
        "consensus": evidence.consensus,
        "reason": verdict.reason,
    }


def save_opinion(
    connection: Connection, table: Table, key: Mapping[str, int], opinion: Mapping[str, object]
) -> None:
    """Save the verdict on a patch and its evidence in an existing row of `table`.

    `key` selects the row by the values of its key columns. `opinion` holds the new values by column name, as
    `build_opinion_columns` returns them.
    """
    of_patch = [table.c[name] == value for name, value in key.items()]
    connection.execute(update(table).where(*of_patch).values(**opinion))


def list_of_evaluation(connection: Connection, identity: EvaluationId) -> tuple[Candidate, ...]:
    """List the candidates of the evaluation `identity`, in the order of their positions in it."""
    rows = connection.execute(_select_rows(identity))
    return tuple(_build_candidate(row, row.strength) for row in rows)


def map_ids_by_pull(connection: Connection, identity: EvaluationId) -> dict[PullNumber, int]:
    """Map the pull request numbers of the evaluation `identity` to the row ids of their candidates."""
    return {row.pull_number: row.id for row in connection.execute(_select_rows(identity))}


def _select_rows(identity: EvaluationId) -> Select[*tuple[object, ...]]:
    return (
        select(candidates, patches.c.diff, evaluation_candidates)
        .join(evaluation_candidates, evaluation_candidates.c.candidate_id == candidates.c.id)
        .outerjoin(patches, patches.c.sha256 == candidates.c.patch_sha256)
        .where(evaluation_candidates.c.evaluation_id == identity)
        .order_by(evaluation_candidates.c.position)
    )


def _build_candidate(row: Row[*tuple[object, ...]], strength: str | None) -> Candidate:
    return Candidate(
        pull=row.pull_number,
        head_sha=row.head_sha,
        base_sha=row.base_sha,
        diff=None if row.diff is None else bytes(row.diff).decode(),
        files=row.files,
        unreadable=row.unreadable,
        strength=strength,
        read_again=row.read_again,
        normalised_sha256=row.normalised_sha256,
    )
