"""The repository's own keys win over the organisation's default, key by key."""

from app.settings.config_layers import SettingOrigin, combine, list_settings
from app.settings.repo_config import WITHOUT_FILE, Mode, TrainingConsent

SHARED = "version: 1\nmode: advisory\nvotes: 8\ntraining: on\nalternatives_budget: {tokens: 5}\n"
OWN = 'version: 1\nvotes: 2\npaths: ["src/**"]\n'


def list_origins(own, shared, allowed=None):
    settings = list_settings(own, shared, allowed or combine(own, shared))
    return {setting.key: (setting.value, setting.origin) for setting in settings}


def test_own_keys_win_and_others_come_from_the_organisation():
    config = combine(OWN, SHARED)
    assert (config.votes, config.mode, config.paths) == (2, Mode.ADVISORY, ("src/**",))
    assert config.alternatives_budget.tokens == 5


def test_consent_to_training_counts_in_the_own_file_only():
    assert combine(OWN, SHARED).training is TrainingConsent.OFF
    assert combine(OWN + "training: on\n", None).training is TrainingConsent.ON


def test_an_invalid_or_missing_text_gives_nothing():
    assert combine(None, None) == WITHOUT_FILE
    assert combine("version: 1\nvots: 3\n", "mode: [") == WITHOUT_FILE
    assert combine(None, SHARED).votes == 8


def test_every_setting_is_listed_with_its_origin():
    origins = list_origins(OWN, SHARED)
    assert origins["votes"] == ("2", SettingOrigin.REPOSITORY)
    assert origins["paths"] == ("[src/**]", SettingOrigin.REPOSITORY)
    assert origins["mode"] == ("advisory", SettingOrigin.ORGANISATION)
    assert origins["training"] == ("off", SettingOrigin.DEFAULT)
    assert origins["alternatives_budget"] == (
        "{tokens: 5, seconds: 3600}",
        SettingOrigin.ORGANISATION,
    )
    assert origins["tests"] == ("none", SettingOrigin.DEFAULT)
    assert origins["draft_pull_requests"] == ("false", SettingOrigin.DEFAULT)


def test_a_value_that_the_operator_lowers_is_marked():
    lowered = combine(OWN, SHARED).model_copy(update={"votes": 1})
    assert list_origins(OWN, SHARED, lowered)["votes"] == ("1", SettingOrigin.CEILING)
