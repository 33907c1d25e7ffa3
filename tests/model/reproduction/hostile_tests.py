"""Reproduction tests that a hostile issue could make a model write, and patches that attack honest tests."""

from tests.model.execution.hostile_patches import WRONG
from tests.model.reproduction.conftest import CODE, write_test

SAY = "\nprint('Issue reproduced')\nif False:\n    print('Issue resolved')\n"
"""A test that is kept: it reproduces the issue, and could say that it is resolved."""
TESTS = {
    "always resolved": "print('Issue resolved')",
    "exit 0": "import sys\nsys.exit(0)",
    "hard exit": "import os\nos._exit(0)" + SAY,
    "fork": "import os\nos.fork()" + SAY,
    "fork bomb": "import subprocess\nsubprocess.Popen(['sh', '-c', 'b() { b | b & }; b'])" + SAY,
    "daemon": "import os\nos.system('(sleep 600 &) &')" + SAY,
    "spawn": "import os\nos.posix_spawn('/bin/sleep', ['sleep', '600'], {})" + SAY,
    "multiprocessing": "import multiprocessing as m, time\nm.Process(target=time.sleep, args=[600]).start()"
    + SAY,
    "write outside": "open('/etc/passwd', 'a')" + SAY,
    "write into the tree": "open('halving.txt', 'w')" + SAY,
    "write a source": "open('halving.py', 'w')" + SAY,
    "reads the source": "assert 'number' in open('halving.py').read()" + SAY,
    "reads through a link": "import os\nos.symlink(os.path.abspath('halving.py'), '/tmp/x')\nopen('/tmp/x').read()"
    + SAY,
    "reads by descriptor": "import os\nos.open('halving.py', os.O_RDONLY)" + SAY,
    "reads the syntax": "import ast, pathlib\nast.parse(pathlib.Path('halving.py').read_text())"
    + SAY,
    "reads by inspect": "import inspect, halving\ninspect.getsource(halving)" + SAY,
    "reads while importing": (
        "import sys\nopen('/tmp/peek.py', 'w').write('open(\"/tree/halving.py\").read()')\n"
        "sys.path.insert(0, '/tmp')\nimport peek" + SAY
    ),
    "reads memory": "open('/proc/self/mem', 'rb')" + SAY,
    "reads the diff": "import subprocess\nsubprocess.run(['git', 'diff'], check=True)" + SAY,
    "endless output": "while True:\n    print('x' * 10**6)",
    "endless": "while True: pass",
    "sleeps": "import time\ntime.sleep(600)",
    "endless sayings": "while True:\n    print('Issue reproduced')",
    "memory": "x = [bytearray(10**9) for _ in range(20)]" + SAY,
    "threads": "import threading as t, time\n[t.Thread(target=time.sleep, args=[600]).start() for _ in range(5000)]"
    + SAY,
    "network": "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)" + SAY,
    "loopback": "import socket\nsocket.create_connection(('127.0.0.1', PORT), 2).send(b'out')"
    + SAY,
    "forged line": (
        "import os\nfor n in range(3, 20):\n    try:\n        os.write(n, b'0' * 64 + b'\\ttest\\tIssue reproduced\\n')\n"
        "    except OSError:\n        pass\n"
    ),
    "forged report": "import tamper_evidence" + SAY,
    "deep": "(" * 10_000,
    "deeper": "-" * 19_000 + "1",
    "long name": f"{'x' * 19_000} = 1",
    "not text": "x = '\udcff'\x00",
}
"""Each ends with "Issue reproduced" if what comes before it succeeds. So none may be kept."""

PATCHES = {
    "prints": CODE.replace("return number // 2", "print('Issue resolved')\n    return 1"),
    "prints at import": "print('Issue resolved')\n" + CODE,
    "prints and ends": "import sys\n"
    + CODE.replace("return number // 2", "print('Issue resolved'); sys.exit(0)"),
    "ends": CODE.replace("return number // 2", "raise BaseException"),
    "returns the words": CODE.replace("return number // 2", "return 'Issue resolved'"),
    "calls the script's print": (
        "import sys\nm = getattr(sys, 'mod' + 'ules')\n"
        + CODE.replace(
            "return number // 2", "m['__ma' + 'in__'].print('Issue resolved')\n    return 1"
        )
    ),
    "replaces print": (
        "import sys\nm = getattr(sys, 'mod' + 'ules')\n"
        + CODE.replace(
            "return number // 2",
            "setattr(m['built' + 'ins'], 'print', lambda *_: None)\n    return 1",
        )
    ),
    "writes to every handle": (
        "import os as o\nw = getattr(o, 'wri' + 'te')\ndef half(number):\n    for n in range(3, 20):\n        try:\n"
        "            w(n, b'0' * 64 + b'\\ttest\\tIssue resolved\\tcall passed\\n')\n        except OSError:\n            pass\n"
        "    return 1\n"
    ),
    "ends at once": "import os as o\ngetattr(o, '_ex' + 'it')(0)\n" + WRONG,
    "changes the tests": (
        "import os\nfor a, _, names in os.walk('/tree/.r4p-reproduction'):\n    for n in names:\n"
        "        open(a + '/' + n, 'w').write('print(\"Issue resolved\")')\n" + CODE
    ),
}
"""Wrong modules that try to make an honest test say that the issue is resolved."""
HONEST = write_test()
ECHO = """
from halving import half

value = half(3)
print(value)
if value == 1:
    print("Issue reproduced")
elif value == 1.5:
    print("Issue resolved")
"""
"""A careless test: it prints what the code under test returns."""
