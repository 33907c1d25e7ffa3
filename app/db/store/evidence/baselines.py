"""Store which tests pass on a commit, so that the base runs once for all groups on it."""

import json
import zlib
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from app.db.tables.schema import test_baselines
from app.values.identifiers import CommitSha, RepositoryId
from model.execution.regression import Baseline

SCHEMA: Final = "r4p.baseline/1"
_STORED_BYTES: Final = 4 * 1024**2
_READ_BYTES: Final = 64 * 1024**2


@dataclass(frozen=True, slots=True)
class BaselineKey:
    """What the result of a base depends on."""

    repository: RepositoryId
    base: CommitSha
    command: str
    environment: str
    """Digest of the test environment: of its packages and its Python."""

    @property
    def columns(self) -> dict[str, Any]:
        """The values of the table's key columns."""
        return {
            "repository_id": self.repository,
            "base_sha": self.base,
            "command": self.command,
            "environment": self.environment,
        }


def load(connection: Connection, key: BaselineKey) -> Baseline | None:
    """Load the baseline of a commit; None when it is not stored or cannot be read."""
    is_row = [test_baselines.c[name] == value for name, value in key.columns.items()]
    data = connection.scalar(select(test_baselines.c.document).where(*is_row))
    return None if data is None else _decode(bytes(data))


def save(connection: Connection, key: BaselineKey, baseline: Baseline) -> None:
    """Store the baseline of a commit, unless one is stored or its document is larger than 4 MiB."""
    data = _encode(baseline)
    if len(data) <= _STORED_BYTES:
        row = key.columns | {"document": data}
        connection.execute(insert(test_baselines).values(row).on_conflict_do_nothing())


def prune(connection: Connection, days: int) -> None:
    """Delete baselines that are older than `days`."""
    oldest = func.now() - func.make_interval(0, 0, 0, days)
    connection.execute(delete(test_baselines).where(test_baselines.c.created_at < oldest))


def _encode(baseline: Baseline) -> bytes:
    document = {
        "schema": SCHEMA,
        "stable": sorted(baseline.stable),
        "flaky": sorted(baseline.flaky),
        "set_up": list(baseline.set_up),
        "seconds": baseline.seconds,
    }
    return zlib.compress(json.dumps(document).encode(errors="surrogatepass"))


def _decode(data: bytes) -> Baseline | None:
    try:
        document = json.loads(zlib.decompressobj().decompress(data, _READ_BYTES))
        if document["schema"] != SCHEMA:
            return None
        return Baseline(
            frozenset(document["stable"]),
            frozenset(document["flaky"]),
            tuple(document["set_up"]),
            float(document["seconds"]),
        )
    except (zlib.error, ValueError, KeyError, TypeError):
        return None
