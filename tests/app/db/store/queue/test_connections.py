"""Who is connected to the database, and in which version."""

from importlib.metadata import version

import pytest

from app.db.session import create_database_engine
from app.db.store.queue import upkeep

pytestmark = pytest.mark.services


def test_the_web_process_sees_the_version_of_a_worker(scene):
    """The worker has another role, and PostgreSQL hides most of its connection."""
    worker = create_database_engine(scene.url, pool_size=1, process="worker")
    web = scene.log_in("web")
    with worker.connect(), web.connect() as connection:
        seen = upkeep.count_connections(connection)
    assert seen["worker", version("r4p-bot")] == 1
    worker.dispose()
    web.dispose()
