"""The stage of the stories: a stand-in for GitHub and the bot's processes."""

import os
import re
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil
import redis
from celery import Celery
from sqlalchemy import Engine

from app.db.session import create_database_engine
from app.operator.bot import Bot
from app.web.listen_address import Listen
from tests.github.facts import App
from tests.github.stand_in import StandIn
from tests.stories import scripted_engine

SECRET = "a-webhook-secret-that-no-log-may-hold"
SLUG = "r4p-bot"
DAY_SECONDS = 3_600.0
WRITER_RIGHTS = {"contents": "write", "pull_requests": "write", "metadata": "read"}
_TOKEN = re.compile(r"gh[a-z]_[A-Za-z0-9]|v1\.[0-9a-f]{8}|eyJ[A-Za-z0-9]")

PACE = {
    "R4P_DEBOUNCE_SECONDS": "0.3",
    "R4P_SWEEP_SECONDS": "0.5",
    "R4P_RETRY_SECONDS": "0.2",
    "R4P_LEASE_SECONDS": "5",
    "R4P_HEARTBEAT_SECONDS": "0.5",
    "R4P_CONCURRENCY": "2",
    # A day lasts an hour: only a story that lets days pass sees what survives of a merge.
    "R4P_DAY_SECONDS": str(DAY_SECONDS),
    # The clock ticks when a story says so.
    "R4P_RECONCILE_SECONDS": "86400",
    "R4P_REACTIONS_SECONDS": "86400",
    "R4P_CALIBRATE_SECONDS": "86400",
}


@dataclass
class Stage:
    """The running stand-in and bot."""

    standin: StandIn
    app: App
    bot: Bot
    database: Engine
    checkouts: Path
    writer: App
    """The second App, which opens draft pull requests; on no repository unless a story installs it."""
    settings: Mapping[str, str]
    """What the bot was told, by name."""

    def tick(self, name: str) -> None:
        """Ring for periodic work: `reconcile`, `reactions` or `redeliver`."""
        with Celery("stories", broker=self.bot.services.redis_url) as celery:
            celery.send_task("r4p.tick", (name,), queue="events")

    def is_ready(self) -> bool:
        """Return whether the web process takes deliveries."""
        try:
            return httpx.get(f"{self.bot.operations_url}/readyz").status_code == 200
        except httpx.TransportError:
            return False

    def kill(self, name: str) -> None:
        """Kill a process of the bot and its children, as the kernel does without memory."""
        (child,) = (child for child in self.bot.children if child.process.name == name)
        for process in [*psutil.Process(child.popen.pid).children(recursive=True), child.popen]:
            os.kill(process.pid, signal.SIGKILL)
        child.popen.wait()

    def clear_broker(self) -> None:
        """Delete all messages of the broker."""
        path = self.bot.services.redis_url.removeprefix("redis+socket://")
        with redis.Redis(unix_socket_path=path) as client:
            client.flushall()

    def measure_logs(self) -> dict[str, int]:
        """Return the length of each log."""
        return {log.name: log.stat().st_size for log in self._logs()}

    def find_secrets_in_logs(self, since: dict[str, int]) -> list[str]:
        """Return the log lines since some lengths that contain a secret."""
        keys = [app.private_key.splitlines()[1] for app in (self.app, self.writer)]
        return [
            f"{log.name}: {line}"
            for log in self._logs()
            for line in log.read_bytes()[since.get(log.name, 0) :]
            .decode(errors="replace")
            .split("\n")
            if SECRET in line or any(key in line for key in keys) or _TOKEN.search(line)
        ]

    def _logs(self) -> list[Path]:
        return sorted((self.bot.data / "logs").glob("*.log"))


def build_script_settings(data: Path) -> dict[str, str]:
    """Return the settings of a bot with the scripted engine."""
    script_file = data / "script.jsonl"
    script_file.write_text(scripted_engine.text())
    return {"R4P_ENGINE": "scripted", "R4P_ENGINE_SCRIPT": str(script_file)}


@contextmanager
def run_stage(data: Path, judging: Mapping[str, str]) -> Iterator[Stage]:
    """Start and connect the stand-in and the bot; `judging` are the verifier's settings."""
    with StandIn.start(data / "github") as standin:
        app = standin.register_app(webhook_secret=SECRET, slug=SLUG)
        key = data / "app.pem"
        key.touch(mode=0o600)
        key.write_text(app.private_key)
        writer = standin.register_app(slug="r4p-writer", permissions=WRITER_RIGHTS)
        writer_key = data / "writer.pem"
        writer_key.touch(mode=0o600)
        writer_key.write_text(writer.private_key)
        settings = PACE | {
            "R4P_WRITER_APP_ID": str(writer.app_id),
            "R4P_WRITER_PRIVATE_KEY_PATH": str(writer_key),
            "R4P_APP_ID": str(app.app_id),
            "R4P_PRIVATE_KEY_PATH": str(key),
            "R4P_WEBHOOK_SECRET": SECRET,
            "R4P_GITHUB_URL": standin.url,
            "R4P_BOT_NAME": SLUG,
            "R4P_CHECKOUT_DIR": str(data / "checkouts"),
            **judging,
        }
        with Bot(data / "bot", Listen(), settings) as bot:
            standin.set_webhook_url(app.app_id, f"{bot.listen.url}/api/github/webhooks")
            database = create_database_engine(bot.services.database_url, pool_size=2)
            try:
                yield Stage(standin, app, bot, database, data / "checkouts", writer, settings)
            finally:
                database.dispose()
