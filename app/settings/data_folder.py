"""The folder of `r4p up`: its settings, its secrets, and the addresses of its database and broker while it runs.

A variable of the environment replaces the folder's value of the same name.
"""

import json
import os
import socket
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from app.settings.environment import read_environment, set_environment
from app.settings.loader import list_known_names

SECRET_FILES: Final[Mapping[str, str]] = {
    "R4P_PRIVATE_KEY_PATH": "private-key.pem",
    "R4P_WEBHOOK_SECRET": "webhook-secret",
    "R4P_OAUTH_CLIENT_SECRET": "client-secret",
    "R4P_ENGINE_API_KEY": "engine-api-key",
}
"""Files under DIR/secrets. A name that ends in `_PATH` gets the file's path, and the others get its text."""
KEY: Final = "R4P_PRIVATE_KEY_PATH"
_ADDRESSES: Final = "addresses.json"
_SETTINGS: Final = "settings.json"
_SECRETS: Final = "secrets"
_APP: Final = frozenset(
    {
        "R4P_APP_ID",
        "R4P_BOT_NAME",
        "R4P_OAUTH_CLIENT_ID",
        "R4P_OAUTH_CLIENT_SECRET",
        "R4P_GITHUB_URL",
        "R4P_PRIVATE_KEY_PATH",
        "R4P_WEBHOOK_SECRET",
    }
)
"""Settings that belong to one App. The folder's are used together or not at all."""


class BadFolder(Exception):
    """A file of the folder cannot be read. The message names the file and the fix."""


class NotRunning(BadFolder):
    """No bot runs on the folder."""


def write_addresses(data: Path, database_url: str, redis_url: str) -> None:
    """Store the addresses of the running database and broker in the folder `data`."""
    values = {"R4P_DATABASE_URL": database_url, "R4P_REDIS_URL": redis_url}
    _write(data / _ADDRESSES, json.dumps({"schema": "r4p.addresses/1", "addresses": values}))


def remove_addresses(data: Path) -> None:
    """Remove the addresses, because the database and the broker end."""
    (data / _ADDRESSES).unlink(missing_ok=True)


def use_running_bot(data: Path) -> None:
    """Point this process at the database and the broker of the `r4p up` that runs on `data`. Raises NotRunning."""
    addresses = _read_values(data / _ADDRESSES, "addresses")
    # A bot that was killed leaves its addresses behind.
    if addresses is None or _is_gone(str(addresses.get("R4P_DATABASE_URL", ""))):
        raise NotRunning(
            f"no bot runs on {data}: start it by `r4p up --data {data}`, or correct --data"
        )
    set_environment({name: str(value) for name, value in addresses.items()})


def _is_gone(database_url: str) -> bool:
    """Return whether nobody listens on the socket of the embedded database, whose folder is the URL's `host`."""
    place = parse_qs(urlsplit(database_url).query)
    if not {"host", "port"} <= place.keys():
        return False
    with socket.socket(socket.AF_UNIX) as probe, suppress(OSError):
        probe.connect(f"{place['host'][0]}/.s.PGSQL.{place['port'][0]}")
        return False
    return True


def use_settings(data: Path, secrets: Collection[str] = ()) -> None:
    """Add the settings that `r4p setup` stored in `data` to this process's environment. Raises BadFolder.

    `secrets` are the names of the secrets to add, keys of SECRET_FILES. Without an App in the environment, the
    folder's App is used.
    """
    stored = _read_values(data / _SETTINGS, "settings") or {}
    values = {name: str(value) for name, value in stored.items()}
    for name in secrets:
        file = data.resolve() / _SECRETS / SECRET_FILES[name]
        if file.is_file():
            values[name] = str(file) if name == KEY else _read_secret(file)
    present = {name.upper() for name, value in read_environment().items() if value}
    if is_app_set():
        values = {name: value for name, value in values.items() if name not in _APP}
    free = list_known_names() - present
    set_environment({name: value for name, value in values.items() if name in free})


def _read_secret(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8"
        raise BadFolder(f"{file} can't be read ({why}): correct or remove it") from None


def is_app_set() -> bool:
    """Report whether this process's environment names an App, or a part of one."""
    parts = _APP | {"R4P_PRIVATE_KEY"}
    parts -= {"R4P_GITHUB_URL", "R4P_BOT_NAME", "R4P_OAUTH_CLIENT_ID", "R4P_OAUTH_CLIENT_SECRET"}
    return any(value and name.upper() in parts for name, value in read_environment().items())


def has_app(data: Path) -> bool:
    """Report whether an App is stored in `data`. Raises BadFolder."""
    return "R4P_APP_ID" in (_read_values(data / _SETTINGS, "settings") or {})


def save_settings(data: Path, settings: Mapping[str, str], secrets: Mapping[str, str]) -> None:
    """Store settings and secrets by name (`R4P_…`) in `data`, beside those stored before.

    Only the owner of the files may read them (mode 0600). The settings are written last, so that an interrupted setup
    names no App without its key.
    """
    folder = data / _SECRETS
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    close_secrets(data)
    for name, text in secrets.items():
        _write(folder / SECRET_FILES[name], text)
    stored = _read_values(data / _SETTINGS, "settings") or {}
    document = {"schema": "r4p.settings/1", "settings": {**stored, **settings}}
    _write(data / _SETTINGS, json.dumps(document, indent=2) + "\n")


def close_secrets(data: Path) -> None:
    """Let only the owner look into the folder of secrets in `data`, if there is one."""
    with suppress(FileNotFoundError):
        (data / _SECRETS).chmod(0o700)


def _read_values(file: Path, section: str) -> dict[str, Any] | None:
    """Return the values by name under the key `section` of a JSON file; None: there is no file. Raises BadFolder."""
    try:
        document = json.loads(file.read_text())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise BadFolder(f"{file} can't be read ({error}): correct or remove it") from None
    values = document.get(section, {}) if isinstance(document, dict) else None
    if not isinstance(values, dict):
        raise BadFolder(f"{file} holds no JSON object with {section}: correct or remove it")
    return values


def _write(file: Path, text: str) -> None:
    """Write a file that only its owner may read. A reader sees the old content or the new one."""
    new = file.with_name(f".{file.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(text)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)
