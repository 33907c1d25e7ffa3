"""The address on which the bot listens, with IPv4 and IPv6."""

import socket

import pytest

from app.web.listen_address import Listen


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:8000"),
        ("localhost", "http://localhost:8000"),
        ("::1", "http://[::1]:8000"),
        ("::", "http://[::]:8000"),
    ],
)
def test_a_host_of_ipv6_stands_in_brackets(host, url):
    assert Listen(host, 8000).url == url


@pytest.mark.parametrize(
    ("host", "family"), [("127.0.0.1", socket.AF_INET), ("::1", socket.AF_INET6)]
)
def test_port_0_becomes_a_port_that_is_free(host, family):
    chosen = Listen(host).resolve_port()
    assert chosen.host == host
    with socket.create_server((host, chosen.port), family=family):
        assert chosen.resolve_port() == chosen
