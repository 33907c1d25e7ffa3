"""`r4p doctor` on the database and the broker: whether they answer, the schema's revision, roles and pauses."""

from collections.abc import Iterator, Sequence

from sqlalchemy.exc import SQLAlchemyError

from app.db import migrate
from app.db.session import create_database_engine
from app.dispatch import Doorbell
from app.operator import database_setup
from app.operator.doctor.finding import Line, Mark, build_line
from app.settings import BrokerSettings, DatabaseSettings, find_mistakes, load
from app.settings.environment import read_environment


def check_stores(*, may_be_unset: bool = False) -> Iterator[Line]:
    """Yield a line for each thing in the database and the broker of the settings, and for each mistake in the settings.

    `may_be_unset`: `r4p up` brings both and sets their addresses when it starts, so a missing address is no mistake.
    """
    if not may_be_unset or _is_set("R4P_DATABASE_URL"):
        if wrong := find_mistakes(DatabaseSettings):
            yield _report("database", wrong)
        else:
            yield from _check_database(load(DatabaseSettings))
    if not may_be_unset or _is_set("R4P_REDIS_URL"):
        wrong = find_mistakes(BrokerSettings)
        yield _report("broker", wrong) if wrong else _check_broker(load(BrokerSettings))


def _is_set(name: str) -> bool:
    return any(value and key.upper() == name for key, value in read_environment().items())


def _report(about: str, wrong: Sequence[str]) -> Line:
    fix = "set it, or name the folder of `r4p up` by --data DIR"
    return Line(Mark.FAIL, about, "; ".join(wrong), fix)


def _check_database(settings: DatabaseSettings) -> Iterator[Line]:
    database = create_database_engine(settings.database_url, pool_size=1)
    try:
        with database.connect() as connection:
            present = migrate.read_revision(connection)
    except SQLAlchemyError as error:
        reason = " ".join(str(getattr(error, "orig", error)).split())
        fix = "start it, or correct R4P_DATABASE_URL"
        yield Line(Mark.FAIL, "database", f"can't be used: {reason}", fix)
        return
    finally:
        database.dispose()
    wanted = migrate.find_newest_revision()
    if present != wanted:
        text = f"revision {present or 'none'}, and this version needs {wanted}"
        yield Line(Mark.FAIL, "database", text, "run `r4p migrate`")
        return
    yield Line(Mark.OK, "database", f"revision {present}")
    yield build_line("database roles", *database_setup.describe_separation())
    yield build_line("pauses", *database_setup.describe_pauses())


def _check_broker(settings: BrokerSettings) -> Line:
    doorbell = Doorbell(settings.redis_url)
    try:
        if doorbell.is_reachable():
            return Line(Mark.OK, "broker", "answers")
    finally:
        doorbell.close()
    # Workers hear of due jobs only through it: the sweep is a message of beat, too.
    fix = "start it, or correct R4P_REDIS_URL; nothing is lost meanwhile"
    return Line(Mark.FAIL, "broker", "does not answer, so no job starts", fix)
