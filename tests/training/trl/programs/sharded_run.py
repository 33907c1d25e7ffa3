"""`r4p train` with weights sharded by FSDP2 over processes of a CPU; run as a program, by test_sharded.

All is accelerate's own but one line: it shards over GPUs only, and takes processes on a CPU for copies of one another.
"""

import warnings
from typing import Any

from accelerate import PartialState
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType

from training.commands.cli import main

_begin = AcceleratorState.__init__


def _begin_sharded(self: AcceleratorState, *args: Any, **named: Any) -> None:
    _begin(self, *args, **named)
    if plugin := named.get("fsdp_plugin"):
        plugin.set_mixed_precision(self._mixed_precision)
        self.fsdp_plugin = plugin
        self.distributed_type = DistributedType.FSDP
        PartialState._shared_state["distributed_type"] = DistributedType.FSDP


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    AcceleratorState.__init__ = _begin_sharded
    main(prog_name="r4p train")
