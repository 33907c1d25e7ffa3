"""Webhooks are logged, never retried, and redelivered on request; tests may hold them back."""

from tests.github.receiver import list_bodies


def list_deliveries(scene):
    return scene.http(scene.jwt()).get("/app/hook/deliveries").json()


def test_a_failed_delivery_is_not_retried_but_can_be_redelivered(webhook_scene, receiver, github):
    receiver.status = 500
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    assert len(receiver.received) == 1
    receiver.status = 202
    failed = list_deliveries(webhook_scene)[0]
    assert (failed["status_code"], failed["event"], failed["redelivery"]) == (500, "issues", False)
    path = f"/app/hook/deliveries/{failed['id']}/attempts"
    assert webhook_scene.http(webhook_scene.jwt()).post(path).status_code == 202
    github.drain()
    first, second = receiver.received
    assert first.body == second.body
    assert first.headers["X-GitHub-Delivery"] == second.headers["X-GitHub-Delivery"]
    log = [d for d in list_deliveries(webhook_scene) if d["guid"] == failed["guid"]]
    assert [(d["status_code"], d["redelivery"]) for d in log] == [(202, True), (500, False)]


def test_an_answer_that_comes_too_late_is_a_failure(webhook_scene, receiver, github):
    github.answer_within(0.05)
    receiver.pause.clear()
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    github.answer_within(10)
    assert github.deliveries()[-1].status == "timed out"


def test_a_receiver_that_is_down_misses_the_delivery(webhook_scene, github):
    github.set_webhook_url(webhook_scene.app.app_id, "http://127.0.0.1:9/")
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    last = github.deliveries()[-1]
    assert (last.status, last.status_code) == ("failed to connect to host", 0)


def test_deliveries_are_forgotten_after_three_days(webhook_scene, github):
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    assert list_deliveries(webhook_scene)
    github.advance(3 * 24 * 3600 + 1)
    assert list_deliveries(webhook_scene) == []


def test_the_delivery_log_is_walked_by_cursor(webhook_scene, github):
    for n in range(4):
        webhook_scene.repo.open_issue(f"Bug {n}")
    github.drain()
    client = webhook_scene.http(webhook_scene.jwt())
    first = client.get("/app/hook/deliveries", params={"per_page": 3})
    second = client.get(first.links["next"]["url"])
    ids = [d["id"] for d in first.json() + second.json()]
    assert len(ids) == 6
    assert ids == sorted(ids, reverse=True)


def test_another_app_cannot_read_the_log(webhook_scene, github, scene):
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    newest = list_deliveries(webhook_scene)[0]["id"]
    assert newest not in [delivery["id"] for delivery in list_deliveries(scene)]
    path = f"/app/hook/deliveries/{newest}/attempts"
    assert scene.http(scene.jwt()).post(path).status_code == 404


def test_held_deliveries_can_be_reordered_duplicated_and_dropped(webhook_scene, receiver, github):
    github.hold_webhooks()
    for title in ("zero", "one", "two"):
        webhook_scene.repo.open_issue(title)
    github.drain()
    assert receiver.received == []
    assert github.release(order=[2, 0, 2]) == 3
    github.drain()
    assert [b["issue"]["title"] for b in list_bodies(receiver)] == ["two", "zero", "two"]
    guids = [r.headers["X-GitHub-Delivery"] for r in receiver.received]
    assert guids[0] == guids[2] != guids[1]


def test_a_delivery_can_be_repeated_by_guid(webhook_scene, receiver, github):
    webhook_scene.repo.open_issue("Bug")
    github.drain()
    github.redeliver(github.deliveries()[-1].guid)
    github.drain()
    assert receiver.received[0].body == receiver.received[1].body
