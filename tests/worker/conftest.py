"""A repository that a real git server serves, and checkouts to fetch it into."""

import pytest

from app.github.endpoints import endpoints
from model.engines.scripted import Scripted
from tests.builders.git_server import GitServer, Upstream
from tests.builders.worker_scene import Scenery
from tests.github.control.client import StandIn
from tests.model.agents.builders import ISSUE, TREE, written
from tests.worker.agents.proposals import waits_for_agents
from worker.agents.agent_process import run
from worker.git.checkout import Checkouts
from worker.git.hardened_git import Caps, Git
from worker.git.tree_export import Exports
from worker.git.tree_store import Trees


@pytest.fixture
def upstream(tmp_path):
    return Upstream(tmp_path / "served" / "octo" / "repo.git")


@pytest.fixture
def server(tmp_path, upstream):
    with GitServer(tmp_path / "served").running() as running:
        yield running


@pytest.fixture
def checkouts(tmp_path, server):
    return Checkouts(tmp_path / "data", endpoints(server.url))


@pytest.fixture
def git(upstream):
    """What a fetch would have left: our view of a repository on disk."""
    return Git(upstream.path, Caps())


@pytest.fixture
def exports(tmp_path):
    return Exports(tmp_path / "exports")


@pytest.fixture
def standin(tmp_path):
    """One each: GitHub limits how many tokens an App may ask for in a minute."""
    with StandIn.start(tmp_path / "github") as running:
        running.hold_webhooks()
        yield running


@pytest.fixture
def app(standin):
    return standin.register_app(webhook_url="http://127.0.0.1:9/hook")


@pytest.fixture
def scene(standin, app, database, tmp_path):
    made = Scenery(standin, app, database, tmp_path / "checkouts")
    yield made
    made.github.close()
    assert standin.violations() == []


@pytest.fixture
def tree(tmp_path):
    written(tmp_path / "tree", TREE)
    return tmp_path / "tree"


@pytest.fixture
def ask(bubblewrap, tree):
    """`ask(*lines)`: Mini-SE on the tree behind real walls, with a script."""

    def asked(*lines, engine=None, **options):
        script = engine or Scripted(lines)
        wanted = {"agent": "mini-se", "seeds": (3,)} | options
        return run(tree, ISSUE, engine=script, **wanted)

    return asked


@pytest.fixture
def trees(tmp_path):
    return Trees(tmp_path / "trees")


@pytest.fixture
def job(database, trees):
    """An evaluation of one pull request that waits for three alternatives, with its tree."""
    return waits_for_agents(database, trees)
