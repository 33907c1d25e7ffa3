"""A lone pull request waits for agents, who get its base; where they can't, what is there is judged or refused."""

import pytest

from app.alternatives import WhyNot
from app.db.session import transaction
from app.db.store import evaluations
from app.jobs import EvaluateIssue
from tests.worker.attempts import carry_out, waiting
from tests.worker.scenery import CONFIG, FILES
from worker.export import ExportLimits

pytestmark = pytest.mark.services

FILL = CONFIG + "alternatives: fill\n"


def looked_at(scene, trigger="pull_request", **more):
    return EvaluateIssue(scene.installation, scene.id, scene.issue, trigger, **more)


def newest(scene, database):
    (job,) = waiting(database)
    with transaction(database) as connection:
        return job, evaluations.load(connection, job.evaluation)


def test_a_lone_pull_requests_base_is_handed_to_agents_once(twice, scene):
    def arrange(_database):
        scene.begin("w * h", config=FILL)
        return looked_at(scene)

    def observe(database):
        job, evaluation = newest(scene, database)
        tree = scene.trees.find(evaluation.id)
        names = sorted(path.name for path in tree.iterdir())
        base = (tree / "area.py").read_text()
        return scene.stored(), job.kind, evaluation.alternatives_wanted, names, base

    left = twice(scene.collecting(), arrange, observe)
    stored = (["collected"], 0, ["propose_patches"])
    base = FILES["area.py"]
    assert left == (stored, "propose_patches", 3, [".github", "area.py"], base)


def test_without_an_agent_it_waits_for_a_rival(scene, database):
    scene.begin("w * h", config=FILL)
    carry_out(database, scene.collecting(has_agent=False), looked_at(scene))
    assert scene.stored() == ([], 0, [])


def test_where_no_tree_can_be_had_rivals_are_judged_and_who_asked_is_told(scene, database):
    scene.begin("w * h", "w - h", config=FILL)
    handler = scene.collecting(limits=ExportLimits(files=0))
    carry_out(database, handler, looked_at(scene))
    job, evaluation = newest(scene, database)
    assert (job.kind, evaluation.alternatives_lack) == ("verify_group", WhyNot.NO_BASE)
    asked = scene.commanded("/r4p propose").asked_in
    carry_out(database, handler, looked_at(scene, "command", asked_in=asked, propose=True))
    said = [one.body for one in scene.repo.comments(scene.issue)]
    assert any(
        "No alternative: the code that it would change could not be read" in one for one in said
    )
