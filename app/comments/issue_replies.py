"""Replies to the commands that control one issue: `config`, `cancel` and `delegate` (pure)."""

from collections.abc import Sequence
from itertools import groupby

from app.comments.markers import format_reply_marker
from app.comments.notices import write_config_note
from app.comments.phrases import join_names, quote_name
from app.policy.command_registry import PREFIX, REGISTRY
from app.settings.config_layers import DEFAULTS_REPOSITORY, EffectiveSetting, SettingOrigin
from app.settings.repo_config import FILE
from app.values.identifiers import CommandSource

_ORIGINS = {
    SettingOrigin.REPOSITORY: f"From `{FILE}` of this repository:",
    SettingOrigin.ORGANISATION: f"From `{FILE}` of the organisation's repository `{DEFAULTS_REPOSITORY}`:",
    SettingOrigin.CEILING: "Lowered to the limits of the bot's operator:",
    SettingOrigin.DEFAULT: "The bot's defaults:",
}


def write_config_reply(
    source: CommandSource, settings: Sequence[EffectiveSetting], problem: str | None
) -> str:
    """Return the reply to `/r4p config` in `source`: each setting in use, by its origin.

    `problem` is the error in the newest settings file; None: none.
    """
    order = list(_ORIGINS)
    ranked = sorted(settings, key=lambda setting: order.index(setting.origin))
    blocks = [
        "\n".join([f"{_ORIGINS[origin]}\n", *map(_write_setting, group)])
        for origin, group in groupby(ranked, lambda setting: setting.origin)
    ]
    return _reply(source, write_config_note(problem) if problem else "", *blocks)


def write_cancel_reply(source: CommandSource, cancelled: int) -> str:
    """Return the reply to `/r4p cancel`: how many evaluations of the issue the bot stopped."""
    if not cancelled:
        return _reply(source, "Nothing waits or runs here, so there is nothing to cancel.")
    return _reply(
        source,
        "Cancelled. A published verdict stays. A change of a pull request starts a new evaluation; "
        f"`{PREFIX} pause` prevents that.",
    )


def write_delegates_reply(source: CommandSource, delegates: Sequence[str]) -> str:
    """Return the reply to `/r4p delegate`: who may use which commands on the issue. It notifies nobody."""
    if not delegates:
        return _reply(source, "Nobody has delegated commands on this issue.")
    verbs = join_names(f"`{verb}`" for verb, entry in REGISTRY.items() if entry.is_delegable)
    people = join_names(quote_name(login) for login in delegates)
    return _reply(source, f"On this issue {people} may use {verbs}, while it is open.")


def _write_setting(setting: EffectiveSetting) -> str:
    return f"- {quote_name(f'{setting.key}: {setting.value}')}"


def _reply(source: CommandSource, *blocks: str) -> str:
    return "\n\n".join(filter(None, [format_reply_marker(source), *blocks])) + "\n"
