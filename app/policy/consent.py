"""Reads whether a repository allows the use of its history (pure)."""

from app.settings import repo_config
from app.settings.repo_config import ConfigError, TrainingConsent


def is_training_allowed(config_text: str | None, config_error: str | None) -> TrainingConsent:
    """Return what a repository's settings allow. An unreadable newest file allows nothing."""
    if config_text is None or config_error is not None:
        return TrainingConsent.OFF
    config = repo_config.parse(config_text)
    return TrainingConsent.OFF if isinstance(config, ConfigError) else config.training
