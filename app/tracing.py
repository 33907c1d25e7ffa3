"""OpenTelemetry spans for deliveries and jobs; nothing happens without R4P_TRACES_URL and the extra `otel`."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final
from uuid import UUID

from app.github.redaction import redact
from app.settings import LogSettings

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)

SEND_MILLISECONDS: Final = 1_000
"""How long a span waits for others at most before they are sent together. A process that is killed loses these."""
_providers: "list[TracerProvider]" = []
"""The provider of this process, once tracing is on."""


def configure(settings: LogSettings, process: str) -> None:
    """Send this process's spans to the OTLP/HTTP address in `settings`, if there is one. `process` names the service.

    Call it after a fork, because a thread sends the spans. Without the extra `otel` it logs a warning and does nothing.
    """
    if not settings.traces_url or _providers:
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError:
        log.warning("R4P_TRACES_URL is set, but no trace is sent: pip install 'r4p-bot[otel]'")
        return
    about = {"service.name": f"r4p-{process}", "service.version": version("r4p-bot")}
    provider = TracerProvider(resource=Resource.create(about))
    exporter = OTLPSpanExporter(endpoint=settings.traces_url)
    provider.add_span_processor(
        BatchSpanProcessor(exporter, schedule_delay_millis=SEND_MILLISECONDS)
    )
    _providers.append(provider)


@contextmanager
def trace_work(name: str, delivery: str | None, **ids: object) -> Iterator[None]:
    """Record the work inside the context as one span, named `name` and with the ids as attributes `r4p.NAME`.

    All work of a delivery shares a trace, whose id is the delivery's GUID. An id of None is left out.
    """
    if not _providers:
        yield
        return
    tracer = _providers[0].get_tracer("r4p")
    attributes = {
        f"r4p.{key}": value if isinstance(value, int) else str(value)
        for key, value in {"delivery": delivery, **ids}.items()
        if value is not None
    }
    with tracer.start_as_current_span(name, _join_trace(delivery), attributes=attributes):
        yield


def mark_failure(why: str) -> None:
    """Mark the span of the present work as failed, with the reason."""
    if not _providers:
        return
    from opentelemetry.trace import Status, StatusCode, get_current_span

    get_current_span().set_status(Status(StatusCode.ERROR, redact(why)))


def stop() -> None:
    """Send what is left, and trace nothing more in this process."""
    while _providers:
        _providers.pop().shutdown()


def _join_trace(delivery: str | None) -> "Context | None":
    """Return the context of the trace that belongs to a delivery; None: the span begins a trace of its own."""
    from opentelemetry.trace import (
        NonRecordingSpan,
        SpanContext,
        TraceFlags,
        set_span_in_context,
    )

    try:
        identity = UUID(delivery or "").int
    except ValueError:  # a delivery of a test, or no delivery
        return None
    # No process sends the parent: both processes derive the same one, so that neither has to ask the other.
    parent = SpanContext(
        identity, identity % 2**64 or 1, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED)
    )
    return set_span_in_context(NonRecordingSpan(parent))
