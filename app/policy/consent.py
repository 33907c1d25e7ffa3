"""What a repository lets its history be used for (pure)."""

from app.settings import repo_config
from app.settings.repo_config import ConfigError, Training


def training(config_text: str | None, config_error: str | None) -> Training:
    """What its settings allow. In doubt nothing: a newest file that can't be read may have said no."""
    if config_text is None or config_error is not None:
        return Training.OFF
    found = repo_config.parse(config_text)
    return Training.OFF if isinstance(found, ConfigError) else found.training
