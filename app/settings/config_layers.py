"""Settings of a repository from two files: its own, and the organisation's default in the repository `.github` (pure).

The repository's own keys win, key by key. `training` counts in the repository's own file only, because it is a consent.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from pydantic import BaseModel

from app.settings import yaml_document
from app.settings.repo_config import ConfigError, RepoConfig, parse

DEFAULTS_REPOSITORY: Final = ".github"
"""Name of the repository whose settings file is the default of its owner's repositories."""
_OWN_ONLY: Final = frozenset({"version", "training"})


class SettingOrigin(StrEnum):
    """Where the value of a setting comes from."""

    REPOSITORY = "this repository"
    ORGANISATION = "organisation default"
    DEFAULT = "bot's default"
    CEILING = "operator's limit"


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting in use."""

    key: str
    value: str
    """As the settings file writes it."""
    origin: SettingOrigin


def combine(own_text: str | None, default_text: str | None = None) -> RepoConfig:
    """Return the settings that the repository's own file and the organisation's default give together.

    A text that is None or invalid gives nothing, and the bot's defaults apply.
    """
    return RepoConfig.model_validate(
        {"version": 1, **_read_shared(default_text), **_read_valid(own_text)}
    )


def list_settings(
    own_text: str | None, default_text: str | None, allowed: RepoConfig
) -> tuple[EffectiveSetting, ...]:
    """Return every setting with its origin. `allowed` holds the settings in use, after the operator's limits."""
    own, shared = _read_valid(own_text), _read_shared(default_text)
    wanted = combine(own_text, default_text)
    settings = []
    for key in RepoConfig.model_fields:
        value = getattr(allowed, key)
        if value != getattr(wanted, key):
            origin = SettingOrigin.CEILING
        elif key in own:
            origin = SettingOrigin.REPOSITORY
        else:
            origin = SettingOrigin.ORGANISATION if key in shared else SettingOrigin.DEFAULT
        settings.append(EffectiveSetting(key, write_value(value), origin))
    return tuple(settings)


def _read_shared(text: str | None) -> dict[str, yaml_document.Value]:
    return {key: value for key, value in _read_valid(text).items() if key not in _OWN_ONLY}


def _read_valid(text: str | None) -> Mapping[str, yaml_document.Value]:
    if text is None or isinstance(parse(text), ConfigError):
        return {}
    return yaml_document.read_document(text).values


def write_value(value: object) -> str:
    """Write a value in the form of the settings file, on one line."""
    if isinstance(value, BaseModel):
        pairs = (f"{key}: {write_value(inner)}" for key, inner in value)
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, tuple):
        return f"[{', '.join(map(write_value, value))}]"
    if value is None:
        return "none"
    return str(value).lower() if isinstance(value, bool) else str(value)
