"""One stand-in for all of these tests; each test gets its own App and repository on it."""

from dataclasses import dataclass
from itertools import count

import httpx
import pytest
from github import Auth

from tests.github.facts import App
from tests.github.receiver import Receiver
from tests.github.repo import Repo
from tests.github.stand_in import StandIn

FILES = {
    "tool/core.py": "def size(items):\n    return len(items) + 1\n",
    "README.md": "# Tool\n",
    ".github/r4p.yml": "mode: advisory\n",
}
VERSION = "2022-11-28"
SECRET = "It's a Secret to Everybody"
_numbers = count(1)
_opened = []
_shared = []
_expected = []


@dataclass
class Scene:
    """An App installed on one repository, and the bot's ways to reach it."""

    github: StandIn
    app: App
    repo: Repo
    installation: int

    def jwt(self, **claims):
        return Auth.AppAuth(self.app.app_id, self.app.private_key).create_jwt(**claims)

    def token(self, **narrowed):
        path = f"/app/installations/{self.installation}/access_tokens"
        answer = self.http(self.jwt()).post(path, json=narrowed or None)
        assert answer.status_code == 201, answer.text
        return answer.json()["token"]

    def http(self, token=None):
        """Return an HTTP client of the REST API."""
        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        url = f"{self.github.url}/api/v3"
        return _close_later(
            httpx.Client(base_url=url, headers=headers, timeout=10, trust_env=False)
        )

    def graphql(self, query, **variables):
        client = self.http(self.token())
        body = {"query": query, "variables": variables}
        return client.post(f"{self.github.url}/api/graphql", json=body).json()

    def path(self, tail):
        return f"/repos/{self.repo.full_name}{tail}"

    def request(self, method, tail, **options):
        """Send a request about the repository with a new installation token."""
        return self.http(self.token()).request(method, self.path(tail), **options)

    def get(self, tail, **query):
        return self.request("GET", tail, params=query)

    def post(self, tail, **body):
        return self.request("POST", tail, json=body)

    def comment(self, number, body="verdict"):
        """Comment as the bot and return GitHub's answer."""
        return self.post(f"/issues/{number}/comments", body=body)

    def create_check(self, head_sha, **fields):
        """Create a check run as the bot and return GitHub's answer."""
        return self.post("/check-runs", name="r4p", head_sha=head_sha, **fields)

    def ask(self, fields, **variables):
        """Ask GraphQL for fields of the repository; `$i` is an optional number."""
        owner, name = self.repo.full_name.split("/")
        query = f"query($o:String!,$n:String!{', $i:Int!' if variables else ''})"
        answer = self.graphql(
            f"{query}{{repository(owner:$o,name:$n){{{fields}}}}}", o=owner, n=name, **variables
        )
        assert "errors" not in answer, answer
        return answer["data"]["repository"]

    def fix(self, text, body="", **options):
        """Open a pull request that changes `tool/core.py`."""
        return self.repo.open_pr("Fix", body, files={"tool/core.py": text}, **options)


def expect_violation(text):
    """Expect a violation that contains `text`; the test fails without one."""
    _expected.append(text)


def _close_later(client):
    """Close a client at the end of the test."""
    _opened.append(client)
    return client


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    with StandIn.start(tmp_path_factory.mktemp("standin")) as running:
        yield running


@pytest.fixture
def github(server):
    """The stand-in, with a check at the end that both sides kept to GitHub's contract."""
    before = len(server.violations())
    yield server
    while _opened:
        _opened.pop().close()
    server.clear_faults()
    server.release()
    server.drain()
    violations = [f"{v.where}: {v.what}" for v in server.violations()[before:]]
    expected, _expected[:] = list(_expected), []
    assert [text for text in expected if not any(text in broken for broken in violations)] == []
    assert [broken for broken in violations if not any(text in broken for text in expected)] == []


def _make_app(github, number, **app):
    """Register an App, or share one: a new key takes a fifth of a second."""
    if app:
        return github.register_app(slug=f"r4p-bot-{number}", **app)
    if not _shared:
        _shared.append(github.register_app())
    return _shared[0]


@pytest.fixture
def scene(github):
    return make_scene(github)


@pytest.fixture
def private(github):
    """A scene whose repository is private."""
    return make_scene(github, private=True)


def make_scene(github, *, private=False, **app):
    """Create a repository with the shared App on it, or with an App of its own."""
    number = next(_numbers)
    registered = _make_app(github, number, **app)
    repo = github.create_repository(f"acme-{number}/tool", FILES, private=private)
    return Scene(github, registered, repo, github.install(registered, [repo]))


@pytest.fixture
def receiver():
    running = Receiver()
    yield running
    running.close()


@pytest.fixture
def webhook_scene(github, receiver):
    """A scene whose App delivers to the receiver; earlier deliveries are cleared."""
    scene = make_scene(github, webhook_url=receiver.url, webhook_secret=SECRET)
    github.drain()
    receiver.received.clear()
    return scene
