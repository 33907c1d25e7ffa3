"""`r4p doctor` about the verifier `reward-model`: a server that gives a score, or a folder in the worker."""

from app.operator.doctor.engine_checks import check_engine
from app.operator.doctor.finding import Mark
from app.settings import EngineSettings
from tests.model.chat_server import MODELS, build_classification, build_completion, serve_chat


def examine(**settings):
    """The result and message about the reward model."""
    _, line = check_engine(EngineSettings(verifier="reward-model", **settings))
    assert line.about == "reward model"
    return line.mark, line.text


def test_server_is_asked_for_one_score():
    with serve_chat(models=[MODELS], classify=[build_classification(0.5)]) as server:
        assert examine(engine_url=server.url) == (
            Mark.OK,
            f"{server.url} serves r4p, which gives scores",
        )
        assert len(server.list_bodies("/classify")) == 1


def test_server_without_scores_is_a_failure_with_the_fix():
    with serve_chat(models=[MODELS], chat=[build_completion("YES")]) as server:
        mark, message = examine(engine_url=server.url)
    assert mark is Mark.FAIL
    assert "HTTP 404" in message
    assert "r4p train merge" in message


def test_without_a_server_the_model_is_a_folder(tmp_path):
    assert examine(model=str(tmp_path)) == (
        Mark.OK,
        f"{tmp_path} scores patches in the worker, on its CPU",
    )
    mark, message = examine(model="qwen")
    assert mark is Mark.FAIL
    assert message.startswith("R4P_MODEL is no folder (qwen): set it to the folder of a trained")
