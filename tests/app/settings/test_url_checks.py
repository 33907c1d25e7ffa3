"""An address in the settings that no library can read is refused when the settings load, and no password is shown."""

import pytest

from app.settings import (
    BrokerSettings,
    DatabaseSettings,
    EngineSettings,
    IdentitySettings,
    LogSettings,
    PagesSettings,
    find_mistakes,
    list_known_names,
)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    for name in list_known_names():
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def tell(monkeypatch):
    """`tell(kind, name, value)`: what is wrong with the setting, without its name; empty: nothing."""

    def find(kind, name, value):
        monkeypatch.setenv(f"R4P_{name}", value)
        lines = find_mistakes(kind)
        assert len(lines) <= 1
        return "".join(lines).removeprefix(f"R4P_{name}: ")

    return find


NO_PORT = "its port is no number from 1 to 65535: write postgresql://USER:PASSWORD@HOST:5432/NAME"
NO_DATABASE = "is no URL that PostgreSQL can read: write postgresql://USER:PASSWORD@HOST:5432/NAME"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://x:hidden@h:notaport/z", NO_PORT),
        ("postgresql://x:hidden", NO_PORT),
        ("postgresql://x:hid/den@h/z", NO_PORT),
        ("postgresql://x:hidden@h:70000/z", NO_PORT),
        ("postgresql://x:hidden@h:0/z", NO_PORT),
        ("postgresql://x:hidden@[::1/z", NO_DATABASE),
        ("postgresql://x:hid[den@h/z", NO_DATABASE),
        ("postgresql://x:hid%zzden@h/z", NO_DATABASE),
        ("postgresql://x:hidden@h/z?sslmod=require", NO_DATABASE),
    ],
)
def test_unreadable_database_url_is_refused_without_its_password(tell, url, why):
    told = tell(DatabaseSettings, "DATABASE_URL", url)
    assert told.startswith(why)
    assert "hid" not in told


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://",
        "postgresql://h/z",
        "postgresql://u:p%40w@[::1]:5432/z?sslmode=require",
        "postgresql://postgres@/postgres?host=/tmp/sockets&port=5432",
    ],
)
def test_database_url_that_works_is_accepted(tell, url):
    assert tell(DatabaseSettings, "DATABASE_URL", url) == ""


BROKER_FIX = "write redis://:PASSWORD@HOST:6379/0, rediss://… for TLS, or redis+socket:///PATH"
BAD_BROKER = f"is no address of a broker: {BROKER_FIX}"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://[", BAD_BROKER),
        ("redis://h:notaport", BAD_BROKER),
        ("redis://:hidden@h:70000", BAD_BROKER),
        ("redis://:hidden@h/abc", BAD_BROKER),
        ("redis://:hid[den@h/0", BAD_BROKER),
        ("redis+socket://", BAD_BROKER),
        ("rediss://h?ssl_cert_reqs=bad", BAD_BROKER),
        ("redis://h?virtual_host=3", BAD_BROKER),
        ("redis://h:6379/0;redis://h:notaport", BAD_BROKER),
        ("h:6379", f"must start with redis://, rediss:// or redis+socket://: {BROKER_FIX}"),
        ("redis:/hidden", f"must start with redis://, rediss:// or redis+socket://: {BROKER_FIX}"),
        (
            "amqp://u:hidden@h",
            f"must start with redis://, rediss:// or redis+socket://, not with amqp://: {BROKER_FIX}",
        ),
    ],
)
def test_unreadable_broker_url_is_refused_without_its_password(tell, url, why):
    told = tell(BrokerSettings, "REDIS_URL", url)
    assert told == why
    assert "hid" not in told


@pytest.mark.parametrize(
    "url",
    [
        "redis://",
        "redis://valkey:6379/0",
        "redis://:p%40w@h:1/2",
        "rediss://u:p@[::1]:6379/0?ssl_cert_reqs=required",
        "redis+socket:///run/valkey/valkey.sock",
        "redis+socket:///run/valkey/valkey.sock?virtual_host=1",
        "redis://h:6379/0;redis://h2:6379/0",
    ],
)
def test_broker_url_that_works_is_accepted(tell, url):
    assert tell(BrokerSettings, "REDIS_URL", url) == ""


@pytest.mark.parametrize(
    ("kind", "name", "fix"),
    [
        (EngineSettings, "ENGINE_URL", "write http://HOST:PORT/v1"),
        (EngineSettings, "ENGINE_URLS", "write http://HOST:PORT/v1"),
        (IdentitySettings, "GITHUB_URL", "write https://host"),
        (PagesSettings, "PUBLIC_URL", "write https://host"),
        (LogSettings, "TRACES_URL", "write http://HOST:4318/v1/traces"),
    ],
)
@pytest.mark.parametrize(
    "url",
    ["garbage", "gpu:8000/v1", "ftp://h", "http://", "https://h:port", "http://[", "http://a b"],
)
def test_address_that_is_no_http_url_is_refused_with_the_fix(tell, kind, name, fix, url):
    told = tell(kind, name, url)
    assert repr(url) in told
    assert fix in told


def test_refused_http_url_shows_no_password(tell):
    told = tell(EngineSettings, "ENGINE_URL", "http://u:hidden@h:port/v1")
    assert "'http://…@h:port/v1'" in told


@pytest.mark.parametrize(
    ("kind", "name"), [(EngineSettings, "ENGINE_URL"), (LogSettings, "TRACES_URL")]
)
@pytest.mark.parametrize("url", ["", "http://h:8000/v1", "https://[::1]/v1"])
def test_empty_address_means_none(tell, kind, name, url):
    assert tell(kind, name, url) == ""


@pytest.mark.parametrize(
    "name",
    ["not a repo", "octo", "octo/", "/stats", "octo/stats/x", "https://github.com/octo/stats"],
)
def test_public_track_record_of_no_repository_is_refused(tell, name):
    assert tell(PagesSettings, "PUBLIC_TRACK_RECORDS", f"octo/stats, {name}") == (
        f"{name!r} is no repository: write OWNER/NAME, with commas between several"
    )


def test_repositories_with_public_track_records_are_a_list(tell):
    assert tell(PagesSettings, "PUBLIC_TRACK_RECORDS", "octo/stats, my-org/a.b_c-d") == ""
