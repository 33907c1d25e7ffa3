"""A repository that a real git server serves, and checkouts to fetch it into."""

from itertools import count

import pytest

from app.github.endpoints import build_endpoints
from model.engines.scripted import ScriptedEngine
from tests.builders.github.git_server import GitServer, Upstream
from tests.builders.worker_scene import Scenery
from tests.github.stand_in import StandIn
from tests.model.agents.builders import ISSUE, TREE
from tests.model.codegraph.builders import write_files
from tests.worker.agents.proposals import store_waiting_evaluation
from worker.agents.agent_process import run_agent
from worker.git.checkout import Checkouts
from worker.git.hardened_git import Git, GitLimits
from worker.git.tree_export import TreeExporter
from worker.git.tree_store import TreeStore

_numbers = count(1)


@pytest.fixture
def upstream(tmp_path):
    return Upstream(tmp_path / "served" / "octo" / "repo.git")


@pytest.fixture
def server(tmp_path, upstream):
    with GitServer(tmp_path / "served").running() as running:
        yield running


@pytest.fixture
def checkouts(tmp_path, server):
    return Checkouts(tmp_path / "data", build_endpoints(server.url))


@pytest.fixture
def git(upstream):
    """What a fetch would have left: our view of a repository on disk."""
    return Git(upstream.path, GitLimits())


@pytest.fixture
def exports(tmp_path):
    return TreeExporter(tmp_path / "exports")


@pytest.fixture(scope="session")
def standin_folder(tmp_path_factory):
    """The folder in which the stand-in keeps its repositories."""
    return tmp_path_factory.mktemp("github")


@pytest.fixture(scope="session")
def session_standin(standin_folder):
    """A stand-in takes a second to start, so every test has the same."""
    with StandIn.start(standin_folder) as running:
        running.hold_webhooks()
        yield running


@pytest.fixture
def standin(session_standin):
    """The shared stand-in; the test must not break GitHub's contract."""
    before = len(session_standin.violations())
    yield session_standin
    assert session_standin.violations()[before:] == []


@pytest.fixture
def app(standin):
    """An App for each test: GitHub limits how many tokens an App may ask for in a minute."""
    return standin.register_app(
        slug=f"r4p-bot-{next(_numbers)}", webhook_url="http://127.0.0.1:9/hook"
    )


@pytest.fixture
def scene(standin, app, database, tmp_path):
    made = Scenery(standin, app, database, tmp_path / "checkouts")
    yield made
    made.github.close()


@pytest.fixture
def tree(tmp_path):
    write_files(tmp_path / "tree", TREE)
    return tmp_path / "tree"


@pytest.fixture
def ask(bubblewrap, tree):
    """`ask(*lines)`: Mini-SE on the tree behind real walls, with a script."""

    def run(*lines, engine=None, **options):
        script = engine or ScriptedEngine(lines)
        wanted = {"agent": "mini-se", "seeds": (3,)} | options
        return run_agent(tree, ISSUE, engine=script, **wanted)

    return run


@pytest.fixture
def trees(tmp_path):
    return TreeStore(tmp_path / "trees")


@pytest.fixture
def job(database, trees):
    """An evaluation of one pull request that waits for three alternatives, with its tree."""
    return store_waiting_evaluation(database, trees)
