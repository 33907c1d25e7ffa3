"""A lone pull request waits for agents, who get its base; where they can't, what is there is judged or refused."""

from contextlib import suppress

import pytest

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import Place
from app.db.store.issues import evaluations, groups
from app.policy.alternative_policy import RefusalReason
from model.domain import Issue
from tests.builders.history.stored_verdict import build_attempt
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, FILES, area, build_diff
from worker.git.tree_export import ExportLimits
from worker.queue.errors import Postponed

pytestmark = pytest.mark.services

FILL = CONFIG + "alternatives: fill\n"


def newest(scene, database):
    (job,) = waiting(database)
    with transaction(database) as connection:
        return job, evaluations.load(connection, job.evaluation)


def test_a_lone_pull_requests_base_is_handed_to_agents_once(twice, scene):
    def arrange(_database):
        scene.begin("w * h", config=FILL)
        return scene.want_evaluation()

    def observe(database):
        job, evaluation = newest(scene, database)
        tree = scene.trees.find(evaluation.id)
        names = sorted(path.name for path in tree.iterdir())
        base = (tree / "area.py").read_text()
        return scene.read_database(), job.kind, evaluation.alternatives_wanted, names, base

    left = twice(scene.collecting(), arrange, observe)
    stored = (["collected"], 0, ["propose_patches"])
    base = FILES["area.py"]
    assert left == (stored, "propose_patches", 3, [".github", "area.py"], base)


def test_without_an_agent_it_waits_for_a_rival(scene, database):
    scene.begin("w * h", config=FILL)
    carry_out(database, scene.collecting(has_agent=False), scene.want_evaluation())
    assert scene.read_database() == ([], 0, [])


def test_without_a_tree_rivals_are_judged_and_the_command_is_answered(scene, database):
    scene.begin("w * h", "w - h", config=FILL)
    handler = scene.collecting(limits=ExportLimits(files=0))
    carry_out(database, handler, scene.want_evaluation())
    job, evaluation = newest(scene, database)
    assert (job.kind, evaluation.alternatives_lack) == ("verify_group", RefusalReason.NO_BASE)
    asked = scene.deliver_command("/r4p propose").asked_in
    carry_out(database, handler, scene.want_evaluation("command", asked, propose=True))
    said = [one.body for one in scene.repo.comments(scene.issue)]
    assert any("No alternative: the bot could not read the code" in one for one in said)


FOR_AGENTS = {"config": FILL, "options": {}}
FOR_JUDGES = {"config": CONFIG, "options": {"reads_code": True}}


@pytest.fixture(params=[FOR_AGENTS, FOR_JUDGES], ids=["for agents", "for judges"])
def count_exports(request, scene, database, caplog):
    """`count_exports(pushes, quiet_minutes, **ceilings)`: how often pushes of a rival tried to export a tree."""

    def push_and_count(pushes, quiet_minutes=0, **ceilings):
        config = request.param["config"].replace("minutes: 0", f"minutes: {quiet_minutes}")
        scene.begin("w * h", "w - h", config=config)
        options = request.param["options"] | ceilings
        handler = scene.collecting(limits=ExportLimits(files=0), **options)
        for turn in range(pushes):
            if turn:
                scene.repo.push(scene.pulls[0], files=area(f"w * h + {turn}"))
            with suppress(Postponed):
                carry_out(database, handler, scene.want_evaluation())
        # No tree passes the limit, and each export that fails logs one line.
        return sum("no tree of" in record.getMessage() for record in caplog.records)

    return push_and_count


def test_each_evaluation_exports_a_tree(count_exports):
    assert count_exports(2) == 2


def test_pushes_during_the_pause_export_no_tree(count_exports):
    assert count_exports(4, quiet_minutes=60) == 1


def test_pushes_beyond_the_budget_export_no_tree(count_exports):
    assert count_exports(2, max_evaluations_per_repository_day=1) == 1


def save_alternatives(scene, results):
    """Alternatives of ours for the scene's issue, the last one the second attempt at the first."""
    base = scene.repo.pull(scene.pulls[0]).base_sha
    with transaction(scene.database) as connection:
        group = groups.ensure_group(connection, scene.id, scene.issue)
        place = Place(scene.id, group, base, Issue("Area is wrong", "It adds."))
        first = None
        for number, result in enumerate(results, 1):
            parent = first if number == len(results) else None
            record = build_attempt(seed=number, patch=build_diff(result), guided_by=parent)
            kept = attempts.save(connection, place, record, number)
            first = first or kept


@pytest.mark.parametrize(
    ("rivals", "alternatives"), [(["w * h"], [1, 2, 3]), (["w * h", "w - h"], [2, 3])]
)
def test_a_replaced_alternative_gives_its_seat_to_a_pull_request(
    scene, database, rivals, alternatives
):
    scene.begin(*rivals, config=FILL)
    save_alternatives(scene, ["w / h", "w // h", "w % h"])
    carry_out(database, scene.collecting(), scene.want_evaluation())
    job, evaluation = newest(scene, database)
    assert job.kind == "verify_group"
    assert [one.number for one in evaluation.alternatives] == alternatives
