"""Traces: one for all the work of a delivery, off by default, and harmless without the extra."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from uuid import UUID

import pytest

from app import tracing
from app.github.redaction import remember
from app.settings import LogSettings
from tests.blocked_imports import run

GUID = "72d3162e-cc78-11e3-81ab-4c9367dc0958"


@pytest.fixture
def collector():
    """A collector that takes OTLP over HTTP: its address, and the spans that it got."""
    wire = pytest.importorskip(
        "opentelemetry.proto.collector.trace.v1.trace_service_pb2",
        reason="the extra `otel` is not installed",
    )
    resources = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            resources.extend(wire.ExportTraceServiceRequest.FromString(body).resource_spans)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1/traces", resources
    tracing.stop()
    server.shutdown()
    thread.join()
    server.server_close()


def list_spans(resources):
    return [span for one in resources for scope in one.scope_spans for span in scope.spans]


def read_attributes(span):
    return {pair.key: pair.value.int_value or pair.value.string_value for pair in span.attributes}


def test_all_work_of_a_delivery_is_one_trace(collector):
    url, resources = collector
    tracing.configure(LogSettings(traces_url=url), "worker")
    with tracing.trace_work("webhook push", GUID, installation=5):
        pass
    with tracing.trace_work("evaluate_issue", GUID, job=7, evaluation=None):
        pass
    tracing.stop()
    door, job = list_spans(resources)
    assert {door.trace_id, job.trace_id} == {UUID(GUID).bytes}
    assert door.parent_span_id == job.parent_span_id
    assert (job.name, read_attributes(job)) == (
        "evaluate_issue",
        {"r4p.delivery": GUID, "r4p.job": 7},
    )
    names = {pair.key: pair.value.string_value for pair in resources[0].resource.attributes}
    assert names["service.name"] == "r4p-worker"


def test_work_without_a_delivery_has_a_trace_of_its_own(collector):
    url, resources = collector
    tracing.configure(LogSettings(traces_url=url), "worker")
    for delivery in (None, "no-guid"):
        with tracing.trace_work("reconcile", delivery):
            pass
    tracing.stop()
    first, second = list_spans(resources)
    assert first.trace_id != second.trace_id
    assert (first.parent_span_id, second.parent_span_id) == (b"", b"")


def test_a_failure_is_marked_and_shows_no_secret(collector):
    url, resources = collector
    remember("a-webhook-secret-of-ours")
    tracing.configure(LogSettings(traces_url=url), "worker")
    with tracing.trace_work("verify_group", GUID):
        tracing.mark_failure("refused a-webhook-secret-of-ours")
    tracing.stop()
    (span,) = list_spans(resources)
    assert span.status.code == 2
    assert "a-webhook-secret" not in span.status.message


def test_a_collector_that_is_down_stops_no_work(collector):
    tracing.configure(LogSettings(traces_url="http://127.0.0.1:9/v1/traces"), "worker")
    with tracing.trace_work("reconcile", None):
        done = True
    assert done


def test_without_an_address_nothing_is_loaded(tmp_path):
    program = tmp_path / "work.py"
    program.write_text(
        "import sys\n"
        "from app import tracing\n"
        "from app.settings import LogSettings\n"
        "tracing.configure(LogSettings(), 'worker')\n"
        "with tracing.trace_work('reconcile', None):\n    tracing.mark_failure('no')\n"
        "print('opentelemetry.sdk' in sys.modules)\n"
    )
    assert run(tmp_path, (), "work").stdout == "False\n"


def test_without_the_extra_one_warning_says_what_to_install(tmp_path):
    program = tmp_path / "work.py"
    program.write_text(
        "from app import tracing\n"
        "from app.settings import LogSettings\n"
        "tracing.configure(LogSettings(traces_url='http://collector/v1/traces'), 'worker')\n"
        "with tracing.trace_work('reconcile', None):\n    tracing.mark_failure('no')\n"
        "print('done')\n"
    )
    done = run(tmp_path, ("opentelemetry", "opentelemetry.sdk"), "work")
    assert done.stdout == "done\n"
    assert "pip install 'r4p-bot[otel]'" in done.stderr
