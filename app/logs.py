"""How every process logs: to standard error, as text or JSON, one line a record, no secret in any."""

import json
import logging
from datetime import UTC, datetime
from urllib.parse import urlsplit

from app.github.redaction import redact, remember
from app.settings import LogSettings


class _Text(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


class _Json(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        fields = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "process": record.process,
            "message": record.getMessage(),
        }
        if record.exc_info:
            fields["trace"] = self.formatException(record.exc_info)
        return redact(json.dumps(fields))


def hide_passwords(*urls: str) -> None:
    """Mask the passwords in these addresses wherever this process writes."""
    for url in urls:
        remember(urlsplit(url).password or "")


def configure(settings: LogSettings) -> None:
    """Set this process's logging up, in place of whatever was there."""
    handler = logging.StreamHandler()
    handler.setFormatter(_Json() if settings.log_format == "json" else _Text())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(settings.log_level)
    for chatty in ("httpx", "httpcore", "urllib3", "celery", "kombu"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, root.level))
