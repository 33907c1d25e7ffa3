"""How long pages take, and how much memory the web process has, with 100,000 verdicts stored.

`python -m tests.bench.programs.pages` prints one JSON object. Milliseconds are at the client, one request at a time.
"""

import json
import statistics
import tempfile
import time
from pathlib import Path

import httpx
import psutil
import psycopg

from app.db import process_roles
from app.db.process_roles import build_role_url
from app.db.session import create_database_engine
from app.github.app_manifest import WEBHOOK_PATH
from app.web.pages.track_record import FRESH_SECONDS
from app.web.signature import sign
from model.domain import Verdict
from tests import services
from tests.app.web.pages.browsing import PageScene
from tests.app.web.web_process import issue_opened
from tests.builders.history import judged_group
from tests.builders.history.trained_models import CANDIDATE, save_models
from tests.github.stand_in import StandIn
from tests.services import child, free_port, wait_for

REPOSITORIES, GROUPS, PULLS = 50, 500, 4
"""100,000 verdicts: 50 repositories, 500 issues in each, four pull requests for each issue."""
REQUESTS = 100

_FILL = """
create function pg_temp.renumber(document text, issue bigint) returns text language sql as
    $$ select replace(replace(replace(replace(document, '#900001', '#' || (issue - 1) * 4 + 1), '#900002', '#' || (issue - 1) * 4 + 2),
        '#900003', '#' || (issue - 1) * 4 + 3), '#900004', '#' || issue * 4) $$;
insert into installations (id, account) values (%(installation)s, 'octo');
insert into repositories (id, installation_id, full_name) select id, %(installation)s, name
    from unnest(%(ids)s::bigint[], %(names)s::text[]) as listed(id, name);
insert into patches (sha256, diff, edit)
    select md5(n::text) || md5(n::text), convert_to(%(diff)s || n, 'utf8'), n::text from generate_series(1, 1000) n;
insert into groups (repository_id, issue_number, title, body, state)
    select id, issue, 'It fails on ' || issue, 'Always.', case when issue > %(groups)s - 20 then 'open' else 'closed' end
    from unnest(%(ids)s::bigint[]) as id, generate_series(1, %(groups)s) as issue;
insert into pull_requests (repository_id, number, state, head_sha, base_sha, author)
    select id, number, case when number > (%(groups)s - 20) * %(pulls)s then 'open' else 'merged' end,
        lpad(to_hex(number), 40, '0'), repeat('b', 40), 'author-' || number %% 90
    from unnest(%(ids)s::bigint[]) as id, generate_series(1, %(groups)s * %(pulls)s) as number;
insert into group_members (group_id, pull_number, strength)
    select id, (issue_number - 1) * %(pulls)s + place, 'closes' from groups, generate_series(1, %(pulls)s) as place;
insert into candidates (repository_id, pull_number, head_sha, base_sha, patch_sha256, files)
    select repository_id, number, head_sha, base_sha, md5((1 + number %% 1000)::text) || md5((1 + number %% 1000)::text), 1
    from pull_requests;
insert into evaluations (group_id, state, trigger, mode, votes, fingerprint, issue_title, issue_body, verifier, verdict,
        created_at, verified_at, published_at)
    select id, 'published', 'pull_request', 'advisory', 8, '', title, body, 'r4p', pg_temp.renumber(%(verdict)s, issue_number)::jsonb,
        now() - interval '30 days', now() - interval '30 days', now() - interval '30 days' from groups;
insert into evaluation_candidates (evaluation_id, candidate_id, position, verdict, probability, votes_correct,
        votes_incorrect, votes_none, reason)
    select evaluations.id, candidates.id, pull_number %% %(pulls)s, (array['correct', 'incorrect', 'unsure'])[1 + pull_number %% 3],
        (pull_number %% 97) / 97.0, 5, 3, 0, 'It does.'
    from groups join evaluations on group_id = groups.id join candidates on candidates.repository_id = groups.repository_id
        and pull_number between (issue_number - 1) * %(pulls)s + 1 and issue_number * %(pulls)s;
insert into votes (evaluation_id, number, seats, correct, forced, seed, reply)
    select evaluations.id, number, seats, seats[1:1 + number %% 2], false, number, 'They resolve it.' from groups join evaluations on group_id = groups.id,
        lateral (select array_agg('#' || (issue_number - 1) * %(pulls)s + place) as seats from generate_series(1, %(pulls)s) as place) as listed,
        generate_series(0, 7) as number where issue_number > %(groups)s - 200 and repository_id = %(ids)s[1];
insert into outcome_events (source, repository_id, pull_number, kind, occurred_at)
    select repository_id || ':' || number, repository_id, number, 'pull_merged', now() - interval '20 days'
    from pull_requests where state = 'merged';
insert into outcomes (repository_id, pull_number, kind, head_sha, event_id, rule_version)
    select outcome_events.repository_id, pull_number, case when pull_number %% 11 = 0 then 'reverted' else 'merged' end,
        pull_requests.head_sha, outcome_events.id, 1
    from outcome_events join pull_requests on pull_requests.repository_id = outcome_events.repository_id
        and number = pull_number;
analyze
"""
_DIFF = (
    "diff --git a/shop/cart.py b/shop/cart.py\n--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,40 +1,80 @@\n"
    + "".join(
        f" def part_{n}(items):\n-    return {n}\n+    return sum(items, start={n})  # {n}\n"
        for n in range(40)
    )
    + "+# "
)
_PLACES = {
    900_001 + place: (
        f"author-{place}",
        verdict,
        0.1 + 0.2 * place,
        judged_group.diff_of(f"return {place}"),
    )
    for place, verdict in enumerate(
        (Verdict.CORRECT, Verdict.INCORRECT, Verdict.UNSURE, Verdict.INCORRECT)
    )
}
"""Patches of one verdict document. Each group's copy of it gets the group's own numbers."""


def main() -> None:
    """Fill a database, start `r4p serve` under its own role, and ask for each page again and again."""
    with (
        tempfile.TemporaryDirectory() as scratch,
        services.running() as servers,
        servers.database() as database_url,
        StandIn.start(Path(scratch)) as github,
    ):
        app, port = github.register_app(), free_port()
        url = f"http://localhost:{port}"
        repos = [
            github.create_repository(f"octo/tool-{n}", {"README.md": ""})
            for n in range(REPOSITORIES)
        ]
        installation = github.install(app, repos)
        process_roles.create_roles(database_url, can_log_in=True)
        _fill(database_url, installation, repos)
        settings = {
            "R4P_DATABASE_URL": build_role_url(database_url, "web"),
            "R4P_REDIS_URL": servers.redis_url,
            "R4P_WEBHOOK_SECRET": "secret",
            "R4P_GITHUB_URL": github.url,
            "R4P_PUBLIC_URL": url,
            "R4P_OAUTH_CLIENT_ID": app.client_id,
            "R4P_OAUTH_CLIENT_SECRET": app.client_secret,
            "R4P_OPERATORS": "octo",
            "R4P_OPS_PORT": "0",
        }
        with child(
            ["app.cli", "serve", "--port", str(port)], settings, Path(scratch) / "log"
        ) as web:
            wait_for(lambda: _answers(url), 60)
            scene = PageScene(github, app, repos[0], repos[0], url, None)
            result = _measure(scene, psutil.Process(web.pid))
        plain = {name: value for name, value in settings.items() if "OAUTH" not in name}
        result["without pages"] = _measure_without_pages(plain, port, Path(scratch) / "plain")
    print(json.dumps(result, indent=1))


def _measure_without_pages(settings: dict[str, str], port: int, log: Path) -> dict:
    """Start the web process without its pages, and send it as many deliveries as each page got requests."""
    url = f"http://localhost:{port}"
    with child(["app.cli", "serve", "--port", str(port)], settings, log) as web:
        wait_for(lambda: _answers(url), 60)
        before = _read_memory(psutil.Process(web.pid))
        body = issue_opened()
        with httpx.Client(trust_env=False) as github:
            for number in range(REQUESTS):
                head = {
                    "X-GitHub-Event": "issues",
                    "X-GitHub-Delivery": f"guid-{number}",
                    "X-Hub-Signature-256": sign(body, settings["R4P_WEBHOOK_SECRET"].encode()),
                }
                answer = github.post(url + WEBHOOK_PATH, content=body, headers=head)
                assert answer.status_code == 202, answer.text
        return {"before": before, "after": _read_memory(psutil.Process(web.pid))}


def _read_memory(process: psutil.Process) -> dict:
    size = process.memory_info().rss
    return {"megabytes": round(size / 1e6, 1), "mebibytes": round(size / 2**20, 1)}


def _fill(database_url: str, installation: int, repos: list) -> None:
    values = {
        "installation": installation,
        "ids": [repo.id for repo in repos],
        "names": [repo.full_name for repo in repos],
        "groups": GROUPS,
        "pulls": PULLS,
        "diff": _DIFF,
        "verdict": json.dumps(judged_group.judge(1, 1, "It fails", _PLACES).document),
    }
    with psycopg.connect(database_url, autocommit=True) as connection:
        for statement in _FILL.split(";\n"):
            connection.execute(
                statement,
                {k: v for k, v in values.items() if f"%({k})s" in statement},
            )
        (count,) = connection.execute("select count(*) from evaluation_candidates").fetchone()
        assert count == REPOSITORIES * GROUPS * PULLS, count
    engine = create_database_engine(database_url)
    with engine.begin() as connection:
        save_models(connection)
    engine.dispose()


def _measure(scene: PageScene, process: psutil.Process) -> dict:
    before = _read_memory(process)
    browser = scene.sign_in("octo")
    result = {"verdicts": REPOSITORIES * GROUPS * PULLS, "before": before}
    paths = {
        "worksheet": "/",
        "group": "/r/octo/tool-0/issues/{issue}",
        "repository": "/r/octo/tool-0",
        "track record": "/r/octo/tool-0/track-record",
        "track record of all": "/track-record",
        "deliveries": "/deliveries",
        "models": "/models",
        "model": f"/models/{CANDIDATE}",
        "help": "/help",
    }
    for name, path in paths.items():
        first, *rest = [
            _time(browser, path.format(issue=GROUPS - n % 200)) for n in range(REQUESTS)
        ]
        p95 = statistics.quantiles(rest, n=20)[18]
        result[name] = {
            "first": round(first),
            "median": round(statistics.median(rest)),
            "p95": round(p95),
        }
    time.sleep(FRESH_SECONDS)
    stale = [round(_time(browser, paths["track record of all"])) for _ in range(20)]
    result["track record of all, 20 times after a minute"] = stale
    result["after"] = _read_memory(process)
    return result


def _time(browser: httpx.Client, path: str) -> float:
    started = time.perf_counter()
    answer = browser.get(path)
    assert answer.status_code == 200, answer.text
    return (time.perf_counter() - started) * 1e3


def _answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz", trust_env=False).status_code == 200
    except httpx.TransportError:
        return False


if __name__ == "__main__":
    main()
