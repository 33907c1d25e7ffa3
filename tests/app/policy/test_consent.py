import pytest

from app.policy.consent import training
from app.settings.repo_config import Training


@pytest.mark.parametrize(
    ("text", "error", "allowed"),
    [
        (None, None, Training.OFF),
        ("version: 1", None, Training.OFF),
        ("version: 1\ntraining: on", None, Training.ON),
        ("version: 1\ntraining: export", None, Training.EXPORT),
        ("version: 1\ntraining: on", "line 2: `training` can't be `of`", Training.OFF),
        ("version: 1\ntraining: on\nversion: 1", None, Training.OFF),
        ("version: 2\ntraining: on", None, Training.OFF),
    ],
)
def test_what_is_not_said_clearly_is_no_consent(text, error, allowed):
    assert training(text, error) is allowed
