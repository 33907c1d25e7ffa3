"""People at a stand-in for GitHub, and two installations with a judged issue each."""

import pytest
from sqlalchemy import text

from app.db import migrate, process_roles
from app.db.process_roles import build_role_url
from app.db.session import create_database_engine
from app.operator.embedded import Embedded
from tests.app.web.pages.browsing import PageScene, serve_pages
from tests.builders.history import judged_group
from tests.github.stand_in import StandIn


@pytest.fixture(scope="session")
def standin(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("standin")) as running:
        yield running


@pytest.fixture(scope="session")
def places(standin):
    """An App on two private repositories of two owners."""
    app = standin.register_app()
    cat = standin.create_repository("octo/cat", {"README.md": ""}, private=True)
    dog = standin.create_repository("rival/dog", {"README.md": ""}, private=True)
    installations = [standin.install(app, [repo]) for repo in (cat, dog)]
    standin.grant(cat, "mona", "write")
    standin.grant(cat, "reader", "read")
    standin.grant(dog, "stranger", "write")
    standin.add_user("ops")
    return app, cat, dog, installations


@pytest.fixture(scope="session")
def owner(tmp_path_factory):
    """An engine that owns the tables of a database with the roles of the processes.

    Roles belong to a server, so this is not the server of all tests.
    """
    with Embedded(tmp_path_factory.mktemp("pages") / "data") as server:
        migrate.upgrade(server.database_url)
        process_roles.create_roles(server.database_url, can_log_in=True)
        engine = create_database_engine(server.database_url)
        yield engine
        engine.dispose()


@pytest.fixture(scope="session")
def web_url(places, standin, services, owner):
    """The URL of a web process that logs into the database under its own role."""
    database_url = build_role_url(owner.url.render_as_string(hide_password=False), "web")
    database_url = database_url.replace("postgresql+psycopg://", "postgresql://", 1)
    with serve_pages(standin, places[0], database_url, services.redis_url) as url:
        yield url


@pytest.fixture
def pages(places, standin, owner, web_url):
    app, cat, dog, installations = places
    with owner.begin() as connection:
        connection.execute(
            text("truncate installations, installation_controls, patches, jobs, deliveries cascade")
        )
        for repo, installation in zip((cat, dog), installations, strict=True):
            judged_group.save_repository(connection, installation, repo.id, repo.full_name)
            judged_group.save_group(connection, repo.id)
    before = len(standin.violations())
    scene = PageScene(standin, app, cat, dog, web_url, owner)
    yield scene
    for browser in scene.browsers:
        browser.close()
    assert standin.violations()[before:] == []
