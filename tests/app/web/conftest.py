"""The web process that most tests of the webhook send deliveries to."""

import pytest

from tests.app.web.web_process import serve_web, settings


@pytest.fixture
def door(database_url, services, broker):
    with serve_web(settings(database_url, services.redis_url)) as running:
        yield running
