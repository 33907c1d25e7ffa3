"""Issues, comments and reactions over REST, by PyGithub where a client's view matters."""

import pytest
from github import GithubException

LIMIT = 65_536


def test_the_bot_comments_edits_lists_and_deletes(scene):
    number = scene.repo.open_issue("Bug", "It counts one too many")
    issue = scene.bot_repo().get_issue(number)
    comment = issue.create_comment("first")
    comment.edit("second")
    assert [c.body for c in issue.get_comments()] == ["second"]
    assert issue.get_comment(comment.id).user.login == scene.app.bot_login
    comment.delete()
    assert scene.repo.comments(number) == []


def test_a_comment_by_the_bot_says_through_which_app_it_came(scene):
    number = scene.repo.open_issue("Bug")
    body = scene.bot_repo().get_issue(number).create_comment("hi").raw_data
    assert body["performed_via_github_app"]["id"] == scene.app.app_id
    assert body["user"]["type"] == "Bot"


@pytest.mark.parametrize("length", [LIMIT, LIMIT + 1])
def test_a_comment_ends_at_65536_characters(scene, length):
    number = scene.repo.open_issue("Bug")
    path = scene.path(f"/issues/{number}/comments")
    answer = scene.http(scene.token()).post(path, json={"body": "é" * length})
    assert answer.status_code == (201 if length == LIMIT else 422)
    assert len(scene.repo.comments(number)) == (1 if length == LIMIT else 0)


def test_an_edit_ends_at_65536_characters_too(scene):
    comment = scene.bot_repo().get_issue(scene.repo.open_issue("Bug")).create_comment("short")
    with pytest.raises(GithubException) as refused:
        comment.edit("x" * (LIMIT + 1))
    assert refused.value.status == 422


def test_a_blank_comment_is_refused(scene):
    number = scene.repo.open_issue("Bug")
    client = scene.http(scene.token())
    answer = client.post(scene.path(f"/issues/{number}/comments"), json={"body": " \n"})
    assert answer.status_code == 422


def test_a_locked_issue_takes_no_comment(scene):
    number = scene.repo.open_issue("Bug")
    scene.repo.lock(number)
    with pytest.raises(GithubException) as refused:
        scene.bot_repo().get_issue(number).create_comment("hi")
    assert refused.value.status == 403
    scene.repo.lock(number, locked=False)
    assert scene.bot_repo().get_issue(number).create_comment("hi").body == "hi"


def test_a_deleted_issue_is_gone(scene):
    number = scene.repo.open_issue("Bug")
    scene.repo.delete_issue(number)
    client = scene.http(scene.token())
    assert client.get(scene.path(f"/issues/{number}")).status_code == 410
    assert client.get(scene.path("/issues/999")).status_code == 404


def test_the_bot_cannot_rewrite_what_others_wrote(scene):
    number = scene.repo.open_issue("Bug")
    comment_id = scene.repo.comment(number, "mine", author="ann")
    client = scene.http(scene.token())
    path = scene.path(f"/issues/comments/{comment_id}")
    assert client.patch(path, json={"body": "yours"}).status_code == 403
    assert client.delete(path).status_code == 403
    assert [c.body for c in scene.repo.comments(number)] == ["mine"]


def test_people_can_edit_and_delete_what_the_bot_wrote(scene):
    number = scene.repo.open_issue("Bug")
    comment = scene.bot_repo().get_issue(number).create_comment("verdict")
    scene.repo.edit_comment(comment.id, "defaced", user="maintainer")
    assert scene.bot_repo().get_issue(number).get_comment(comment.id).body == "defaced"
    scene.repo.delete_comment(comment.id)
    client = scene.http(scene.token())
    assert client.get(scene.path(f"/issues/comments/{comment.id}")).status_code == 404


def test_a_deleted_account_leaves_null_behind(scene, github):
    number = scene.repo.open_issue("Bug", author="soon-gone")
    scene.repo.comment(number, "bye", author="soon-gone")
    github.delete_user("soon-gone")
    client = scene.http(scene.token())
    assert client.get(scene.path(f"/issues/{number}")).json()["user"] is None
    comments = client.get(scene.path(f"/issues/{number}/comments")).json()
    assert [c["user"] for c in comments] == [None]
    assert client.get("/users/soon-gone").status_code == 404


def test_reactions_are_given_once_and_listed(scene):
    number = scene.repo.open_issue("Bug")
    comment = scene.bot_repo().get_issue(number).create_comment("verdict")
    scene.repo.react(comment.id, "-1", user="ann")
    comment.create_reaction("eyes")
    again = scene.http(scene.token()).post(
        scene.path(f"/issues/comments/{comment.id}/reactions"), json={"content": "eyes"}
    )
    assert again.status_code == 200
    given = [(r.content, r.user.login) for r in comment.get_reactions()]
    assert given == [("-1", "ann"), ("eyes", scene.app.bot_login)]
    listed = scene.bot_repo().get_issue(number).get_comment(comment.id).raw_data
    assert (listed["reactions"]["-1"], listed["reactions"]["total_count"]) == (1, 2)


def test_the_bot_takes_back_only_its_own_reaction(scene):
    number = scene.repo.open_issue("Bug")
    comment = scene.bot_repo().get_issue(number).create_comment("verdict")
    ann_reaction = scene.repo.react(comment.id, "+1", user="ann")
    bot_reaction = comment.create_reaction("eyes").id
    client = scene.http(scene.token())
    path = scene.path(f"/issues/comments/{comment.id}/reactions")
    assert client.delete(f"{path}/{ann_reaction}").status_code == 404
    assert client.delete(f"{path}/{bot_reaction}").status_code == 204
    assert scene.repo.comments(number)[0].reactions == (("+1", "ann"),)


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
    answer = private.http(private.token()).get(private.path("/collaborators/ann/permission")).json()
    assert (answer["permission"], answer["role_name"]) == (permission, role)


def test_a_stranger_reads_what_is_public_and_nothing_else(scene, private, github):
    github.add_user("stranger")
    path = "/collaborators/stranger/permission"
    assert scene.http(scene.token()).get(scene.path(path)).json()["permission"] == "read"
    assert private.http(private.token()).get(private.path(path)).json()["permission"] == "none"


def test_the_author_association_follows_role_and_merges(scene, github):
    owner = scene.repo.full_name.split("/")[0]
    github.grant(scene.repo, "ann", "triage")
    scene.repo.merge(scene.fix("x = 1\n", author="bob").number)
    expected = {owner: "OWNER", "ann": "COLLABORATOR", "bob": "CONTRIBUTOR", "eve": "NONE"}
    numbers = {who: scene.repo.open_issue("Bug", author=who) for who in expected}
    client = scene.http(scene.token())
    shown = {
        who: client.get(scene.path(f"/issues/{n}")).json()["author_association"]
        for who, n in numbers.items()
    }
    assert shown == expected


def test_the_issue_list_holds_pull_requests_and_can_be_narrowed(scene):
    bug = scene.repo.open_issue("Bug")
    done = scene.repo.open_issue("Done")
    fix = scene.fix("x = 1\n").number
    scene.repo.close(done)
    client = scene.http(scene.token())

    def numbers(**query):
        return [i["number"] for i in client.get(scene.path("/issues"), params=query).json()]

    assert numbers() == [fix, bug]
    assert numbers(state="closed") == [done]
    assert numbers(state="all", direction="asc") == [bug, done, fix]
    assert numbers(state="all", since="2999-01-01T00:00:00Z") == []


def test_the_timeline_tells_what_happened_in_order(scene):
    number = scene.repo.open_issue("Bug")
    scene.repo.comment(number, "me too")
    fix = scene.fix("x = 1\n", body=f"Fixes #{number}")
    scene.repo.close(number)
    scene.repo.reopen(number)
    shown = scene.bot_repo().get_issue(number).get_timeline()
    events = [(e.event, e.raw_data.get("source", {}).get("issue", {}).get("number")) for e in shown]
    assert sorted(events[:2], key=str) == [("commented", None), ("cross-referenced", fix.number)]
    assert events[2:] == [("closed", None), ("reopened", None)]
