"""Checks of addresses in the settings (pure). A refusal names the fix, and no part of it can be a password."""

import re
from typing import Annotated, Final, NoReturn
from urllib.parse import SplitResult, urlsplit

from pydantic import AfterValidator

from app.values.ports import LAST_PORT

_DATABASE_FIX: Final = "write postgresql://USER:PASSWORD@HOST:5432/NAME, with %40 for @, %3A for : and %2F for / in the password"
_BROKERS: Final = ("redis://", "rediss://", "redis+socket://")
_BROKER_FIX: Final = (
    "write redis://:PASSWORD@HOST:6379/0, rediss://… for TLS, or redis+socket:///PATH"
)


def find_http_mistake(value: str, form: str) -> str | None:
    """Return why a text is no http or https URL with a host, and the fix `form`, which is an example; None: it is one."""
    parts = _split(value)
    if parts is not None and parts.scheme in {"http", "https"} and parts.hostname:
        return None
    shown = re.sub(r"//.*@", "//…@", value)
    return f"{shown!r} is no http or https URL: write {form}"


def _split(value: str) -> SplitResult | None:
    """Split a URL; None: it is none, or its port is no port."""
    try:
        parts = urlsplit(value)
        is_usable = parts.port is None or parts.port > 0
    except ValueError:
        return None
    return parts if is_usable and not re.search(r"\s", value) else None


def find_engine_mistake(value: str) -> str | None:
    """Return what keeps a text from being the URL of a model server, with the fix; None: nothing."""
    return find_http_mistake(value, "http://HOST:PORT/v1")


def check_engine_url(value: str) -> str:
    """Return the URL of a model server as it is. Raises ValueError for anything else."""
    if why := find_engine_mistake(value):
        raise ValueError(why)
    return value


def _check_base_url(value: str) -> str:
    if why := find_http_mistake(value, "https://host"):
        raise ValueError(why)
    return value


BaseUrl = Annotated[str, AfterValidator(_check_base_url)]
"""github.com, or the base URL of a GitHub Enterprise Server."""


def check_database_url(value: str) -> str:
    """Return the URL of a PostgreSQL database as it is. Raises ValueError unless both of its readers can read it."""
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict
    from sqlalchemy import make_url

    if not value.startswith("postgresql://"):
        _refuse_scheme(value, "postgresql://")
    try:
        urlsplit(value)  # as the log does to mask the password
        ports = str(conninfo_to_dict(value).get("port", "")).split(",")
    except (ProgrammingError, ValueError):
        raise ValueError(f"is no URL that PostgreSQL can read: {_DATABASE_FIX}") from None
    try:
        ports.append(str(make_url(value).port or ""))
        is_wrong = any(port and not 1 <= int(port) <= LAST_PORT for port in ports)
    except ValueError:
        is_wrong = True
    if is_wrong:
        raise ValueError(f"its port is no number from 1 to {LAST_PORT}: {_DATABASE_FIX}")
    return value


def check_broker_url(value: str) -> str:
    """Return the address of the broker as it is, or several with semicolons between. Raises ValueError."""
    for address in value.split(";"):
        if not address.startswith(_BROKERS):
            _refuse_scheme(address, f"{', '.join(_BROKERS[:-1])} or {_BROKERS[-1]}", _BROKER_FIX)
        if not _is_broker_url(address):
            raise ValueError(f"is no address of a broker: {_BROKER_FIX}")
    return value


def _is_broker_url(address: str) -> bool:
    """Report whether Celery's library, which connects later, can read the address."""
    from kombu.connection import Connection

    try:
        parts = urlsplit(address)
        connection = Connection(address)  # type: ignore[no-untyped-call]  # kombu has no types
        number = str(connection.virtual_host or "").strip("/")
    except (KeyError, TypeError, ValueError):
        return False
    has_place = parts.scheme != "redis+socket" or parts.path not in {"", "/"}
    return has_place and (not number or number.isdecimal())


def _refuse_scheme(value: str, wanted: str, fix: str = "") -> NoReturn:
    scheme, mark, _ = value.partition("://")
    actual = f", not with {scheme}{mark}" if mark else ""
    raise ValueError(f"must start with {wanted}{actual}" + (f": {fix}" if fix else ""))
