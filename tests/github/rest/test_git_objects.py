"""Commits, branches and pull requests over REST, and GitHub's refusals."""

import pytest

RIGHTS = {"contents": "write", "pull_requests": "write", "metadata": "read"}


@pytest.fixture
def made(scene):
    """`made(path, body)` sends a POST as an App that may write code and returns the answer."""
    writer = scene.github.register_app(slug="writer", permissions=RIGHTS)
    scene.app = writer
    scene.installation = scene.github.install(writer, [scene.repo])
    client = scene.http(scene.token())
    return lambda path, **body: client.post(scene.path(path), json=body)


def commit(scene, made, **entry):
    """A commit on the default branch with one more entry."""
    base = scene.http(scene.token()).get(scene.path("/commits/main")).json()["sha"]
    entry = {"path": "new.py", "mode": "100644", "type": "blob"} | (entry or {"content": "x\n"})
    tree = made("/git/trees", base_tree=base, tree=[entry])
    assert tree.status_code == 201, tree.text
    sha = tree.json()["sha"]
    return made("/git/commits", message="More", tree=sha, parents=[base])


def test_a_commit_a_branch_and_a_draft(scene, made):
    answer = commit(scene, made)
    assert answer.json()["author"]["name"] == "writer[bot]"
    sha = answer.json()["sha"]
    ref = made("/git/refs", ref="refs/heads/more/one", sha=sha)
    assert ref.json()["object"]["sha"] == sha
    get = scene.http(scene.token()).get
    assert get(scene.path("/git/ref/heads/more/one")).json() == ref.json()
    assert get(scene.path(f"/git/commits/{sha}")).json() == answer.json()
    pull = made("/pulls", title="More", head="more/one", base="main", draft=True).json()
    assert (pull["draft"], pull["user"]["login"]) == (True, "writer[bot]")
    assert (pull["additions"], pull["changed_files"]) == (1, 1)


def test_a_blob_is_a_file_and_without_one_a_file_is_gone(scene, made):
    blob = made("/git/blobs", content="/wA=", encoding="base64").json()
    tree = commit(scene, made, sha=blob["sha"])
    assert tree.status_code == 201
    gone = commit(scene, made, path="README.md", sha=None).json()
    shown = (
        scene.http(scene.token()).get(scene.path("/contents/"), params={"ref": gone["sha"]}).json()
    )
    assert "README.md" not in [entry["name"] for entry in shown]
    assert made("/git/blobs", content="text").status_code == 201


def test_a_reference_is_made_once(scene, made):
    sha = commit(scene, made).json()["sha"]
    assert made("/git/refs", ref="refs/heads/more", sha=sha).status_code == 201
    again = made("/git/refs", ref="refs/heads/more", sha=sha)
    assert (again.status_code, again.json()["message"]) == (422, "Reference already exists")
    unknown = made("/git/refs", ref="refs/heads/other", sha="0" * 40)
    assert (unknown.status_code, unknown.json()["message"]) == (422, "Object does not exist")
    assert scene.http().get(scene.path("/git/ref/heads/none")).status_code == 404
    assert scene.http().get(scene.path(f"/git/commits/{'0' * 40}")).status_code == 404


def test_a_branch_has_one_open_pull_request(scene, made):
    made("/git/refs", ref="refs/heads/more", sha=commit(scene, made).json()["sha"])
    assert made("/pulls", title="More", head="more", base="main").status_code == 201
    again = made("/pulls", title="More", head="more", base="main")
    assert again.status_code == 422
    assert "A pull request already exists" in again.text
    assert made("/pulls", title="More", head="none", base="main").status_code == 422


def test_who_may_not_write_is_refused(scene):
    client = scene.http(scene.token())
    for path, body in {
        "/git/blobs": {"content": "x"},
        "/git/refs": {"ref": "refs/heads/x", "sha": "0" * 40},
    }.items():
        answer = client.post(scene.path(path), json=body)
        assert answer.status_code == 403
        assert answer.headers["x-accepted-github-permissions"] == "contents=write"


def test_where_an_app_is_not_installed_it_is_told_so(scene):
    scene.app = scene.github.register_app(slug="elsewhere", permissions=RIGHTS)
    answer = scene.http(scene.jwt()).get(scene.path("/installation"))
    assert answer.status_code == 404
