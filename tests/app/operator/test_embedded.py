"""Embedded servers come up wherever they are put, keep what was committed, and leave nothing behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import psycopg
import pytest
from kombu import Connection
from sqlalchemy import text

from app.db.session import create_database_engine
from app.operator.embedded import Embedded, EmbeddedError
from app.operator.embedded_servers import _drop_root
from tests.services import ROOT, wait_for

pytestmark = pytest.mark.services

DIES = """
import os, signal, sys
from pathlib import Path
import psycopg
from app.operator.embedded import Embedded
with Embedded(Path(sys.argv[1])) as servers:
    with psycopg.connect(servers.database_url, autocommit=True) as connection:
        connection.execute("create table kept (n int); insert into kept values (7)")
    print(servers.postgres_pid, servers.valkey_pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""

SERVES = """
import sys
from pathlib import Path
from app.operator.embedded import Embedded
with Embedded(Path(sys.argv[1])) as servers:
    print(servers.build_url("other"), servers.create_database("other"))
"""


# May read what root may: the interpreter itself can lie in root's home.
AS_NOBODY = (
    *("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"),
    *("--inh-caps=+dac_override", "--ambient-caps=+dac_override"),
)


def run(program: str, data: Path, *prefix: str) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-c", program, str(data)]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )


def test_both_servers_take_every_client_we_use(tmp_path):
    with Embedded(tmp_path) as servers:
        url = servers.create_database("other")
        assert url == servers.build_url("other")
        with psycopg.connect(url) as connection:
            assert connection.execute("show fsync").fetchone() == ("on",)
        pooled = create_database_engine(url)
        with pooled.connect() as connection:
            assert connection.scalar(text("select current_database()")) == "other"
        pooled.dispose()
        with Connection(servers.redis_url) as broker:
            assert broker.connect()
        servers.drop_database("other")
        servers.drop_database("other")
    servers.stop()
    assert not psutil.pid_exists(servers.postgres_pid)
    assert not psutil.pid_exists(servers.valkey_pid)


def test_killed_in_the_middle_the_servers_end_and_the_data_stays(tmp_path):
    died = run(DIES, tmp_path)
    assert died.returncode == -signal.SIGKILL, died.stderr
    with Embedded(tmp_path) as servers, psycopg.connect(servers.database_url) as connection:
        assert connection.execute("select n from kept").fetchone() == (7,)
        for pid in map(int, died.stdout.split()):
            wait_for(lambda pid=pid: not psutil.pid_exists(pid))


def test_a_directory_whose_name_is_too_long_for_sockets_will_do(tmp_path):
    data = tmp_path / ("d" * 120)
    with Embedded(data) as servers, psycopg.connect(servers.database_url):
        sockets = Path(servers.redis_url.removeprefix("redis+socket://")).parents[1]
        assert not sockets.is_relative_to(data)
    assert not sockets.exists()


def test_a_directory_in_use_is_refused_by_name(tmp_path):
    with Embedded(tmp_path), pytest.raises(EmbeddedError, match=f"{tmp_path} is in use"):
        Embedded(tmp_path).__enter__()


def _find_closed_folder():
    """The first folder above the virtual environment that other users may not enter."""
    return next(
        (path for path in Path(sys.prefix).parents if not path.stat().st_mode & 0o001), None
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.skipif(
    _find_closed_folder() is not None, reason="other users can't enter the checkout"
)
def test_an_ordinary_user_can_run_them_too(tmp_path):
    os.chown(tmp_path, 65534, 65534)
    done = run(SERVES, tmp_path, *AS_NOBODY)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.split()
    assert first == second
    assert (tmp_path / "valkey").stat().st_uid == 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives its rights up for PostgreSQL")
def test_the_server_user_finds_programs_in_a_directory_of_root_alone(tmp_path):
    """`initdb` asks by access(2), for which the kernel drops capabilities unless a secure bit keeps them."""
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    program = private / "program"
    program.touch(mode=0o755)
    code = f"import os; print(os.getuid() > 0, os.access({str(program)!r}, os.X_OK))"
    done = subprocess.run(
        _drop_root([sys.executable, "-c", code]), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True"]
