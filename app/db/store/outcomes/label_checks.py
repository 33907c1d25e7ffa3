"""Store label checks: the truth about patches that people looked at."""

from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import Connection, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import label_checks
from app.outcomes.judgement import LabelCheck, PatchKey


def save_label_checks(
    connection: Connection, answers: Mapping[PatchKey, bool], now: datetime
) -> int:
    """Save answers, newest last, and return how many are new or changed."""
    stored = load_label_checks(connection)
    new = {
        key: is_correct
        for key, is_correct in answers.items()
        if key not in stored or stored[key].is_correct is not is_correct
    }
    for (group, pull, patch), is_correct in new.items():
        key = {"group_id": group, "pull_number": pull, "patch_sha256": patch}
        values = {"is_correct": is_correct, "checked_at": now}
        connection.execute(
            insert(label_checks)
            .values(**key, **values)
            .on_conflict_do_update(index_elements=list(key), set_=values)
        )
    return len(new)


def load_label_checks(connection: Connection) -> dict[PatchKey, LabelCheck]:
    """Load all label checks by patch."""
    return {
        (row.group_id, row.pull_number, row.patch_sha256): LabelCheck(
            row.is_correct, row.checked_at
        )
        for row in connection.execute(select(label_checks))
    }
