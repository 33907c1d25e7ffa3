"""Speed beside floors and peers: `python -m tests.bench`. Never part of the tests."""
