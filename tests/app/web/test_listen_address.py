"""The address on which the bot listens, with IPv4 and IPv6."""

import socket

import pytest

from app.settings import SettingsError
from app.web.listen_address import Listen


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("localhost", "http://localhost:8000"),
        ("::1", "http://[::1]:8000"),
        ("::", "http://[::]:8000"),
        ("", "http://0.0.0.0:8000"),
    ],
)
def test_the_address_is_a_url_of_rfc_3986(host, url):
    assert Listen(host, 8000).url == url


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_port_0_becomes_a_port_that_is_free(host, family):
    chosen = Listen(host).resolve_port()
    assert chosen.host == host
    with socket.create_server((host, chosen.port), family=family):
        assert chosen.resolve_port() == chosen


HOST = "give a name or an address of this machine"
WRONG = {
    "no such host": ("no-such.invalid", 80, "--host", "no-such.invalid:80", HOST),
    "no name": ("a..b", 80, "--host", "a..b:80", HOST),
    "too long a name": (f"{'a' * 64}.b", 80, "--host", f"{'a' * 64}.b:80", HOST),
    "another machine": ("192.0.2.1", 80, "--host", "192.0.2.1:80", HOST),
    "too high": ("::1", 70_000, "--port", "[::1]:70000", "give a port from 0 to 65535"),
    "negative": ("::1", -1, "--port", "[::1]:-1", "give a port from 0 to 65535"),
}


@pytest.mark.parametrize(("host", "port", "name", "place", "fix"), WRONG.values(), ids=WRONG)
def test_an_address_that_cannot_be_used_is_one_line(capsys, host, port, name, place, fix):
    with pytest.raises(SettingsError):
        Listen(host, port).open_socket()
    (_, line) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"  {name}: can't listen on {place}: ")
    assert line.endswith(f": {fix}")
    assert "Unknown error" not in line


def test_a_host_without_a_port_is_refused_with_the_names_of_its_settings(capsys):
    with pytest.raises(SettingsError):
        Listen("no-such.invalid", names=("R4P_OPS_HOST", "R4P_OPS_PORT")).resolve_port()
    line = capsys.readouterr().err.splitlines()[1]
    assert line.startswith("  R4P_OPS_HOST: can't listen on no-such.invalid:0: ")


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("0.0.0.0", "http://127.0.0.1:8000"),
        ("", "http://127.0.0.1:8000"),
        ("::", "http://[::1]:8000"),
        ("::1", "http://[::1]:8000"),
    ],
)
def test_a_browser_on_this_machine_opens_the_loopback_address(host, url):
    assert Listen(host, 8000).local_url == url


def test_a_check_leaves_the_port_free():
    address = Listen().resolve_port()
    address.check()
    with address.open_socket(), pytest.raises(SettingsError):
        address.check()


def test_a_name_without_an_address_is_the_hosts_fault_on_every_system(monkeypatch, capsys):
    """The numbers of these errors are negative with glibc and positive on macOS and musl."""

    def refuse(*_rest, **_options):
        raise socket.gaierror(8, "nodename nor servname provided, or not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(SettingsError):
        Listen("no-such.invalid", 80).open_socket()
    assert capsys.readouterr().err.splitlines()[1].startswith("  --host: can't listen on ")


@pytest.mark.parametrize(
    ("addresses", "family"),
    [
        (["::1"], socket.AF_INET6),
        (["::1", "127.0.0.1"], socket.AF_INET),
        (["127.0.0.1", "::1"], socket.AF_INET),
    ],
    ids=str,
)
def test_a_name_is_opened_by_ipv4_unless_it_has_ipv6_only(monkeypatch, addresses, family):
    resolve = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda _host, *rest, **options: [
            place for address in addresses for place in resolve(address, *rest, **options)
        ],
    )
    with Listen("r4p.example").open_socket() as listening:
        assert listening.family == family
