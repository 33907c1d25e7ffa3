"""Comments, reactions and permissions over REST."""

import pytest

LIMIT = 65_536


@pytest.fixture
def number(scene):
    return scene.repo.open_issue("Bug")


def test_the_bot_comments_edits_and_lists_under_the_name_of_its_app(scene, number):
    comment = scene.comment(number, "first").json()
    scene.request("PATCH", f"/issues/comments/{comment['id']}", json={"body": "second"})
    (listed,) = scene.get(f"/issues/{number}/comments").json()
    assert (listed["id"], listed["body"]) == (comment["id"], "second")
    assert (listed["user"]["login"], listed["user"]["type"]) == (scene.app.bot_login, "Bot")
    assert listed["performed_via_github_app"]["id"] == scene.app.app_id


def test_a_comment_ends_at_65536_characters(scene, number):
    comment = scene.comment(number, "é" * LIMIT)
    assert comment.status_code == 201
    assert scene.comment(number, "é" * (LIMIT + 1)).status_code == 422
    edit = {"body": "x" * (LIMIT + 1)}
    path = f"/issues/comments/{comment.json()['id']}"
    assert scene.request("PATCH", path, json=edit).status_code == 422
    assert [len(c.body) for c in scene.repo.comments(number)] == [LIMIT]


def test_a_blank_comment_is_refused(scene, number):
    assert scene.comment(number, " \n").status_code == 422


def test_a_locked_issue_takes_no_comment(scene, number):
    scene.repo.lock(number)
    assert scene.comment(number).status_code == 403
    scene.repo.lock(number, locked=False)
    assert scene.comment(number).status_code == 201


def test_a_deleted_issue_is_410_and_an_unknown_one_404(scene, number):
    scene.repo.delete_issue(number)
    assert scene.get(f"/issues/{number}/comments").status_code == 410
    assert scene.get("/issues/999/comments").status_code == 404


def test_the_bot_cannot_rewrite_what_others_wrote(scene, number):
    comment = scene.repo.comment(number, "mine", author="ann")
    path = f"/issues/comments/{comment}"
    assert scene.request("PATCH", path, json={"body": "yours"}).status_code == 403
    assert [c.body for c in scene.repo.comments(number)] == ["mine"]


def test_people_can_edit_and_delete_what_the_bot_wrote(scene, number):
    comment = scene.comment(number).json()["id"]
    scene.repo.edit_comment(comment, "defaced", user="maintainer")
    assert [c.body for c in scene.repo.comments(number)] == ["defaced"]
    scene.repo.delete_comment(comment)
    path = f"/issues/comments/{comment}"
    assert scene.request("PATCH", path, json={"body": "back"}).status_code == 404


def test_a_deleted_account_leaves_null_behind(scene, number, github):
    scene.repo.comment(number, "bye", author="soon-gone")
    github.delete_user("soon-gone")
    assert [c["user"] for c in scene.get(f"/issues/{number}/comments").json()] == [None]
    assert scene.get("/collaborators/soon-gone/permission").status_code == 404


def test_reactions_are_given_once_and_listed(scene, number):
    comment = scene.comment(number).json()["id"]
    path = f"/issues/comments/{comment}/reactions"
    scene.repo.react(comment, "-1", user="ann")
    assert [scene.post(path, content="eyes").status_code for _ in range(2)] == [201, 200]
    reactions = [(r["content"], r["user"]["login"]) for r in scene.get(path).json()]
    assert reactions == [("-1", "ann"), ("eyes", scene.app.bot_login)]
    (listed,) = scene.get(f"/issues/{number}/comments").json()
    assert (listed["reactions"]["-1"], listed["reactions"]["total_count"]) == (1, 2)


@pytest.mark.parametrize(
    ("role", "permission"),
    [
        ("none", "none"),
        ("read", "read"),
        ("triage", "read"),
        ("write", "write"),
        ("maintain", "write"),
        ("admin", "admin"),
    ],
)
def test_six_roles_are_shown_as_four_permissions(private, github, role, permission):
    github.grant(private.repo, "ann", role)
    answer = private.get("/collaborators/ann/permission").json()
    assert (answer["permission"], answer["role_name"]) == (permission, role)


def test_a_stranger_reads_what_is_public_and_nothing_else(scene, private, github):
    github.add_user("stranger")
    path = "/collaborators/stranger/permission"
    assert scene.get(path).json()["permission"] == "read"
    assert private.get(path).json()["permission"] == "none"


def test_the_author_association_follows_role_and_merges(scene, number, github):
    owner = scene.repo.full_name.split("/")[0]
    github.grant(scene.repo, "ann", "triage")
    scene.repo.merge(scene.fix("x = 1\n", author="bob").number)
    expected = {owner: "OWNER", "ann": "COLLABORATOR", "bob": "CONTRIBUTOR", "eve": "NONE"}
    for login in expected:
        scene.repo.comment(number, "hi", author=login)
    listed = scene.get(f"/issues/{number}/comments").json()
    assert {c["user"]["login"]: c["author_association"] for c in listed} == expected
