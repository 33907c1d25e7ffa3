"""With R4P_LOG_FORMAT=json every process writes one JSON object a line, from its first line to its last."""

import json
import signal

import pytest

from tests.services import SECRET, child, free_port, wait_for

pytestmark = pytest.mark.services


@pytest.fixture
def environment(services, broker, database_url):
    return {
        "R4P_DATABASE_URL": database_url,
        "R4P_REDIS_URL": services.redis_url,
        "R4P_WEBHOOK_SECRET": SECRET.decode(),
        "R4P_LOG_FORMAT": "json",
    }


@pytest.mark.parametrize(
    ("arguments", "begun"),
    [
        (["worker", "--queues", "events", "--concurrency", "1"], "ready"),
        (["beat"], "ready"),
        (["serve", "--port", "{port}"], "Uvicorn running on http"),
    ],
    ids=["worker", "beat", "web"],
)
def test_each_line_of_a_process_is_a_json_object(environment, tmp_path, arguments, begun):
    command = ["app.cli", *(part.format(port=free_port()) for part in arguments)]
    with child(command, environment, tmp_path / "log") as process:
        wait_for(lambda: begun in process.says(), seconds=60)
        process.popen.send_signal(signal.SIGTERM)
        process.popen.wait(30)
        lines = process.says().splitlines()
    records = [json.loads(line) for line in lines]
    assert all({"at", "level", "logger", "process", "message"} <= set(one) for one in records)
    assert any(begun in one["message"] for one in records)
