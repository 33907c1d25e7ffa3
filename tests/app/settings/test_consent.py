import pytest

from app.settings.repo_config import TrainingConsent, read_training_consent


@pytest.mark.parametrize(
    ("text", "error", "allowed"),
    [
        (None, None, TrainingConsent.OFF),
        ("version: 1", None, TrainingConsent.OFF),
        ("version: 1\ntraining: on", None, TrainingConsent.ON),
        ("version: 1\ntraining: export", None, TrainingConsent.EXPORT),
        ("version: 1\ntraining: on", "line 2: `training` can't be `of`", TrainingConsent.OFF),
        ("version: 1\ntraining: on\nversion: 1", None, TrainingConsent.OFF),
        ("version: 2\ntraining: on", None, TrainingConsent.OFF),
    ],
)
def test_an_unclear_setting_is_no_training_consent(text, error, allowed):
    assert read_training_consent(text, error) is allowed
