"""Environment variables that begin like our settings but are none."""

import re

PREFIX = "R4P_"
OTHER_NAMES = frozenset(
    {
        "R4P_BENCH_PEERS",  # the benches: virtual environments of peers
        "R4P_DATA",  # tests and benches: the folder of the large data
        "R4P_PRIVATE_KEY_FILE",  # deploy/compose.yaml: the file that becomes a secret
        "R4P_WRITER_PRIVATE_KEY_FILE",  # likewise
    }
)
_SERVICE = re.compile(
    r"_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$"
)
_ADDRESS = re.compile(r"(tcp|udp|sctp)://")


def is_service_link(name: str, value: str) -> bool:
    """Report whether Kubernetes set the variable, as in every pod for a service called `r4p` or `r4p-…`."""
    if _SERVICE.search(f"_{name}"):
        return True
    return name.endswith("_PORT") and _ADDRESS.match(value) is not None
