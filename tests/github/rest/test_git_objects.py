"""Commits, branches and pull requests over REST, and GitHub's refusals."""

import pytest

RIGHTS = {"contents": "write", "pull_requests": "write", "metadata": "read"}


@pytest.fixture
def writer(scene):
    """A scene whose App may write code."""
    scene.app = scene.github.register_app(slug="writer", permissions=RIGHTS)
    scene.installation = scene.github.install(scene.app, [scene.repo])
    return scene


def commit(writer, **entry):
    """Commit the default branch with a changed entry."""
    base = writer.repo.first_sha
    entry = {"path": "new.py", "mode": "100644", "type": "blob"} | (entry or {"content": "x\n"})
    tree = writer.post("/git/trees", base_tree=base, tree=[entry])
    assert tree.status_code == 201, tree.text
    return writer.post("/git/commits", message="More", tree=tree.json()["sha"], parents=[base])


def open_pull(writer, branch, answer):
    """Open a pull request for a new branch at the commit of an answer."""
    sha = answer.json()["sha"]
    assert writer.post("/git/refs", ref=f"refs/heads/{branch}", sha=sha).status_code == 201
    return writer.post("/pulls", title="More", head=branch, base="main", draft=True)


def test_a_commit_a_branch_and_a_draft(writer):
    answer = commit(writer)
    assert answer.json()["author"]["name"] == "writer[bot]"
    pull = open_pull(writer, "more/one", answer).json()
    assert (pull["draft"], pull["user"]["login"]) == (True, "writer[bot]")
    assert (pull["additions"], pull["changed_files"]) == (1, 1)
    sha = answer.json()["sha"]
    assert writer.get("/git/ref/heads/more/one").json()["object"]["sha"] == sha
    assert writer.get(f"/git/commits/{sha}").json() == answer.json()


def test_a_blob_becomes_a_file_and_a_null_entry_deletes_one(writer):
    blob = writer.post("/git/blobs", content="/wA=", encoding="base64").json()
    added = open_pull(writer, "added", commit(writer, sha=blob["sha"])).json()
    assert (added["additions"], added["changed_files"]) == (0, 1)
    gone = open_pull(writer, "gone", commit(writer, path="README.md", sha=None)).json()
    assert (gone["deletions"], gone["changed_files"]) == (1, 1)
    assert writer.post("/git/blobs", content="text").status_code == 201


def test_a_reference_is_created_once(writer):
    sha = commit(writer).json()["sha"]
    cases = [
        ("more", sha, None),
        ("more", sha, "Reference already exists"),
        ("other", "0" * 40, "Object does not exist"),
    ]
    for branch, target, message in cases:
        answer = writer.post("/git/refs", ref=f"refs/heads/{branch}", sha=target)
        assert (answer.status_code, answer.json().get("message")) == (
            422 if message else 201,
            message,
        )
    assert writer.get("/git/ref/heads/none").status_code == 404
    assert writer.get(f"/git/commits/{'0' * 40}").status_code == 404


def test_a_branch_has_one_open_pull_request(writer):
    assert open_pull(writer, "more", commit(writer)).status_code == 201
    for head, message in (("more", "A pull request already exists"), ("none", "")):
        answer = writer.post("/pulls", title="More", head=head, base="main")
        assert (answer.status_code, message in answer.text) == (422, True)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/git/blobs", {"content": "x"}),
        ("/git/refs", {"ref": "refs/heads/x", "sha": "0" * 40}),
    ],
)
def test_an_app_without_contents_write_may_not_write_code(scene, path, body):
    answer = scene.post(path, **body)
    assert answer.status_code == 403
    assert answer.headers["x-accepted-github-permissions"] == "contents=write"


def test_a_repository_without_the_app_has_no_installation(scene):
    scene.app = scene.github.register_app(slug="elsewhere", permissions=RIGHTS)
    answer = scene.http(scene.jwt()).get(scene.path("/installation"))
    assert answer.status_code == 404
