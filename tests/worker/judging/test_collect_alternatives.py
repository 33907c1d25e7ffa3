"""A lone pull request waits for agents, who get its base; where they can't, what is there is judged or refused."""

import pytest

from app.db.session import transaction
from app.db.store.alternatives import attempts
from app.db.store.alternatives.attempts import AttemptRecord, Place
from app.db.store.issues import evaluations, groups
from app.jobs.job import EvaluateIssue
from app.policy.alternative_policy import RefusalReason
from model.domain import EngineInfo, Issue, Tokens
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import CONFIG, FILES, area
from worker.git.tree_export import ExportLimits

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
    assert (job.kind, evaluation.alternatives_lack) == ("verify_group", RefusalReason.NO_BASE)
    asked = scene.commanded("/r4p propose").asked_in
    carry_out(database, handler, looked_at(scene, "command", asked_in=asked, propose=True))
    said = [one.body for one in scene.repo.comments(scene.issue)]
    assert any("No alternative: the bot could not read the code" in one for one in said)


def written(scene, results):
    """Alternatives of ours for the scene's issue, the last one the second attempt at the first."""
    base = scene.repo.pull(scene.pulls[0]).base_sha
    with transaction(scene.database) as connection:
        group = groups.ensure_group(connection, scene.id, scene.issue)
        place = Place(scene.id, group, base, Issue("Area is wrong", "It adds."))
        first = None
        for number, result in enumerate(results, 1):
            record = AttemptRecord(
                agent="mini-se",
                engine=EngineInfo("scripted", "m", ""),
                seed=number,
                stop="submitted",
                steps=1,
                tokens=Tokens(),
                seconds=1.0,
                patch=diff_of(result),
                guided_by=first if number == len(results) else None,
            )
            kept = attempts.save(connection, place, record, number)
            first = first or kept


def diff_of(result):
    changed = area(result)["area.py"].splitlines()
    lines = [f"-{line}" for line in FILES["area.py"].splitlines()] + [f"+{one}" for one in changed]
    head = f"diff --git a/area.py b/area.py\n--- a/area.py\n+++ b/area.py\n@@ -1,{len(lines) - len(changed)} +1,{len(changed)} @@\n"
    return head + "\n".join(lines) + "\n"


@pytest.mark.parametrize(("rivals", "ours"), [(["w * h"], [1, 2, 3]), (["w * h", "w - h"], [2, 3])])
def test_who_was_replaced_gives_up_a_seat_to_a_pull_request(scene, database, rivals, ours):
    scene.begin(*rivals, config=FILL)
    written(scene, ["w / h", "w // h", "w % h"])
    carry_out(database, scene.collecting(), looked_at(scene))
    job, evaluation = newest(scene, database)
    assert job.kind == "verify_group"
    assert [one.number for one in evaluation.alternatives] == ours
