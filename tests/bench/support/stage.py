"""The whole bot with its people: `r4p up`'s processes, an engine of known speed, and the stand-in for GitHub."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from app.operator.bot import Bot
from app.web.listen_address import Listen
from tests.github.facts import App
from tests.github.stand_in import StandIn
from tests.services import wait_for

VOTE_SECONDS = 0.05
SECRET = "a secret of the benches"
SLUG = "r4p-bot"
_SETTLED_SECONDS = 60.0
_SCRIPT = {
    "stall_seconds": VOTE_SECONDS,
    "reply": "I went through the patches one by one.",
    "box_containing": ["w * h"],
    "repeat": True,
}


@dataclass(frozen=True, slots=True)
class Stage:
    """Everything that runs."""

    standin: StandIn
    app: App
    bot: Bot
    connection: "psycopg.Connection[tuple]"
    """To the bot's database, autocommitting."""

    def settle(self) -> None:
        """Until every delivery was sent and no job is open."""
        wait_for(lambda: self._is_quiet() and self._is_quiet(), _SETTLED_SECONDS)

    def _is_quiet(self) -> bool:
        self.standin.drain()
        query = "select count(*) from jobs where state in ('ready', 'running')"
        return self.connection.execute(query).fetchone() == (0,)


@contextmanager
def running(data: Path) -> Iterator[Stage]:
    """The stand-in and the bot, introduced to each other; no event waits for others to follow."""
    script = data / "script.jsonl"
    script.write_text(f"{json.dumps(_SCRIPT)}\n")
    with StandIn.start(data / "github") as standin:
        app = standin.register_app(webhook_secret=SECRET, slug=SLUG)
        settings = {
            "R4P_APP_ID": str(app.app_id),
            "R4P_PRIVATE_KEY": app.private_key,
            "R4P_WEBHOOK_SECRET": SECRET,
            "R4P_GITHUB_URL": standin.url,
            "R4P_BOT_NAME": SLUG,
            "R4P_CHECKOUT_DIR": str(data / "checkouts"),
            "R4P_ENGINE": "scripted",
            "R4P_ENGINE_SCRIPT": str(script),
            "R4P_DEBOUNCE_SECONDS": "0",
        }
        with Bot(data / "bot", Listen(), settings) as bot:
            standin.set_webhook_url(app.app_id, f"{bot.listen.url}/api/github/webhooks")
            with psycopg.connect(bot.services.database_url, autocommit=True) as connection:
                yield Stage(standin, app, bot, connection)
