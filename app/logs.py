"""Log set-up of every process: to standard error, as text or JSON, with secrets masked."""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import Final
from urllib.parse import urlsplit

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter

from app.github.redaction import redact, remember
from app.settings import LogSettings

_CHATTY: Final = ("httpx", "httpcore", "urllib3", "celery", "kombu")


_ids: ContextVar[Mapping[str, object]] = ContextVar("ids")
"""Ids of what this thread or asyncio task works on, by name."""


@contextmanager
def bind_ids(**ids: object) -> Iterator[None]:
    """Add ids, such as `job=7`, to every log line of this thread while the context is open; None is left out."""
    before = _ids.set({name: value for name, value in ids.items() if value is not None})
    try:
        yield
    finally:
        _ids.reset(before)


def add_ids(**ids: object) -> None:
    """Add ids to the later log lines of this thread until its `bind_ids` ends, or of this asyncio task until the task ends.

    None is left out.
    """
    more = {name: value for name, value in ids.items() if value is not None}
    _ids.set({**_ids.get({}), **more})


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        ids = " ".join(f"{name}={value}" for name, value in _ids.get({}).items())
        return super().formatMessage(record) + (f" [{ids}]" if ids else "")

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class _Json(JsonFormatter):
    def __init__(self) -> None:
        super().__init__(
            ["levelname", "name", "process", "message"],
            rename_fields={"levelname": "level", "name": "logger", "exc_info": "trace"},
            timestamp="at",
            # Uvicorn repeats the message here with colours.
            reserved_attrs=[*RESERVED_ATTRS, "color_message"],
        )

    def process_log_record(self, log_data: dict[str, object]) -> dict[str, object]:
        # JSON turns a key's line breaks into escapes, so secrets must go before that.
        return {
            name: redact(value) if isinstance(value, str) else value
            for name, value in (dict(_ids.get({})) | log_data).items()
        }

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def hide_passwords(*urls: str) -> None:
    """Mask the passwords in these URLs in everything that this process logs."""
    for url in urls:
        remember(urlsplit(url).password or "")


def configure(settings: LogSettings) -> None:
    """Replace this process's logging set-up by the level and format in `settings`.

    The log also gets Python's warnings, and the error that ends the process.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if settings.log_format == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for chatty in _CHATTY:
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
    logging.getLogger("celery.apps.worker").setLevel(root.level)  # it logs when a worker is ready
    logging.captureWarnings(capture=True)
    sys.excepthook = _log_uncaught


def _log_uncaught(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    if issubclass(kind, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logging.getLogger("r4p").critical("this process ends", exc_info=(kind, error, trace))
