"""Wrong patches of `doubling.py` that try everything but to pass its tests.

Each is the body of the module, with `double` wrong, and whatever should make a wrong patch look right, break out, or
live on. OPEN holds what the screen for suspicious code stops at once; HIDDEN writes the same so that the screen does
not see it, for the layers behind it.
"""

WRONG = "\ndef double(number):\n    return -1\n"
LATE = "\ndef double(number):\n    {}\n    return -1\n"


def _late(line):
    return LATE.format(line)


OPEN = {
    "exit at import": "import os\nos._exit(0)\n" + WRONG,
    "exit in the function": "import os\n" + _late("os._exit(0)"),
    "sys.exit": "import sys\n" + _late("sys.exit(0)"),
    "SystemExit": _late("raise SystemExit(0)"),
    "skip by unittest": "import unittest\n" + _late("raise unittest.SkipTest"),
    "skip by pytest": "import pytest\n" + _late("pytest.skip('no')"),
    "expected failure": "import pytest\n" + _late("pytest.xfail('no')"),
    "end of the session": "import pytest\n" + _late("pytest.exit('done', 0)"),
    "kill itself": "import os\n" + _late("os.kill(os.getpid(), 9)"),
    "abort": "import os\n" + _late("os.abort()"),
    "libc": "import ctypes\n" + _late("ctypes.CDLL(None)._exit(0)"),
    "exit handler": "import atexit, os\natexit.register(os._exit, 0)\n" + WRONG,
    "trace": "import sys\nsys.settrace(lambda *_: None)\n" + WRONG,
    "profile": "import sys\nsys.setprofile(lambda *_: None)\n" + WRONG,
    "garbage": "import gc\n" + _late("[o for o in gc.get_objects() if hasattr(o, '_report')]"),
    "frames": "import sys\n" + _late("sys._getframe(1).f_locals"),
    "modules": "import sys\nsys.modules['tests'] = None\n" + WRONG,
    "import hook": "import sys\nsys.meta_path.insert(0, None)\n" + WRONG,
    "builtins": "import builtins\nbuiltins.AssertionError = BaseException\n" + WRONG,
    "signals": "import signal\n" + _late("signal.raise_signal(9)"),
    "descriptors": "import os\n"
    + _late("[os.write(n, b'test\\tpassed\\n') for n in range(3, 20)]"),
    "runner's call": "import _pytest.runner as r\nr.call_and_report = lambda *a, **k: None\n"
    + WRONG,
    "runner's report": "import pytest\npytest.TestReport.from_item_and_call = None\n" + WRONG,
    "plugins": "import pluggy\npluggy.PluginManager.register = None\n" + WRONG,
    "import by name": "r = __import__('_pytest.runner')\n" + WRONG,
    "reporter": "import tamper_evidence\ntamper_evidence.SignedReport.send = print\n" + WRONG,
    "plugin by a hook": "def pytest_pyfunc_call(pyfuncitem):\n    return True\n" + WRONG,
    "from sys": "from sys import modules, _getframe\n" + WRONG,
    "other letters": "import sys\nx = sys.\uff4dodules\n" + WRONG,
    "other encoding": "# coding: utf-7\n" + WRONG,
    "own main": "import __main__\n" + WRONG,
    "equality of a tool": "from mock import ANY\n" + _late("return ANY"),
    "evaluated": _late("exec('import os; os._exit(0)')"),
}
_RETURN = "\n\ndef double(number):\n    return X(-1)\n"
_CLASS = "class X:\n    def __init__(self, *_):\n        pass\n"
EQUAL = {
    "true": _CLASS + "    def __eq__(self, other):\n        return True\n" + _RETURN,
    "true on every path": _CLASS
    + "    def __eq__(self, other):\n        if other:\n            return True\n        else:\n            return 1\n"
    + _RETURN,
    "other argument names": _CLASS + "    def __eq__(*_):\n        return True\n" + _RETURN,
    "argument deleted": _CLASS
    + "    def __eq__(self, other):\n        del other\n        return not False\n"
    + _RETURN,
    "lambda": _CLASS + "    __eq__ = lambda self, other: True\n" + _RETURN,
    "function of the module": "def same(one, other):\n    return True\n"
    + _CLASS
    + "    __eq__ = same\n"
    + _RETURN,
    "function beside a method of its name": "def same(one, other):\n    return True\n"
    + _CLASS
    + "    __eq__ = same\n\nclass Y:\n    def same(self, other):\n        return self is other\n"
    + _RETURN,
    "one of two functions": "if 1:\n    def same(one, other):\n        return True\n"
    "else:\n    def same(one, other):\n        return one is other\n"
    + _CLASS
    + "    __eq__ = same\n"
    + _RETURN,
    "named lambda": "same = lambda *_: True\n" + _CLASS + "    __eq__ = same\n" + _RETURN,
    "one of two targets": _CLASS + "    __eq__, x = lambda *_: True, 1\n" + _RETURN,
    "walrus": _CLASS + "    (__eq__ := lambda *_: True)\n" + _RETURN,
    "coroutine": _CLASS
    + "    async def __eq__(self, other):\n        return self is other\n"
    + _RETURN,
    "generator": _CLASS + "    def __eq__(self, other):\n        yield self is other\n" + _RETURN,
    "any number": _CLASS
    + "    def __eq__(self, other):\n        return isinstance(other, int)\n"
    + _RETURN,
    "equal to itself": _CLASS
    + "    def __eq__(self, other):\n        return other == other\n"
    + _RETURN,
    "anything": _CLASS + "    __eq__ = lambda self, other: other is not None\n" + _RETURN,
    "wide letter": _CLASS + "    def __\uff45q__(self, other):\n        return True\n" + _RETURN,
    "set later": _CLASS + "\nX.__eq__ = lambda *_: True\n" + _RETURN,
    "setattr": _CLASS + "\nsetattr(X, '__eq__', lambda *_: True)\n" + _RETURN,
    "made by type": "X = type('X', (int,), {'__eq__': lambda *_: True})\n" + _RETURN,
    "made by type from keywords": "X = type('X', (int,), dict(__eq__=lambda *_: True))\n" + _RETURN,
    "true object": _CLASS
    + "    def __bool__(self):\n        return True\n    def __eq__(self, other):\n        return self\n"
    + _RETURN,
    "never unequal": _CLASS + "    def __ne__(self, other):\n        return False\n" + _RETURN,
    "never unequal by nothing": _CLASS + "    def __ne__(self, other):\n        pass\n" + _RETURN,
    "equal and hashed": _CLASS
    + "    def __hash__(self):\n        return 0\n    def __eq__(self, other):\n        return True\n"
    + _RETURN,
    "number": "class X(int):\n    def __eq__(self, other):\n        return True\n    __hash__ = int.__hash__\n"
    + _RETURN,
    "text": "class X(str):\n    def __eq__(self, other):\n        return True\n" + _RETURN,
    "holds everything": "class X(list):\n    def __init__(self, _):\n        pass\n"
    "    def __contains__(self, item):\n        return True\n" + _RETURN,
    "of every class": "class M(type):\n    def __instancecheck__(cls, one):\n        return True\n\n"
    "class X(metaclass=M):\n    pass\n" + _RETURN,
    "total ordering": "import functools\n\n@functools.total_ordering\n"
    + _CLASS
    + "    def __eq__(self, other):\n        return True\n    def __lt__(self, other):\n        return False\n"
    + _RETURN,
}
"""Objects that equal everything, which every test accepts. No run can see through them."""
HIDDEN_EQUAL = {
    "name in two parts": "X = type('X', (int,), {'__e' + 'q__': lambda *_: True})\n" + _RETURN,
    "looks at the other": _CLASS
    + "    def __eq__(self, other):\n        return other is not self\n"
    + _RETURN,
    "difference of nothing": "class X(int):\n    def __sub__(self, other):\n        return 0\n"
    + _RETURN,
}
"""The same so that the screen does not see it. What the tests say about these is wrong."""
_FIND = "import sys as s\nm = getattr(s, 'mod' + 'ules')\n"
_OS = "import os as o\n"
_GREEDY = (
    _OS
    + "import time as t\n"
    + "def take(megabytes, further=lambda: None):\n"
    + "    if not o.fork():\n        x = bytearray(b'x') * (megabytes << 20)\n        further()\n        t.sleep(60)\n"
)
"""Starts a process that keeps some memory, less than one process may have."""
HIDDEN = {
    "exit at import": _OS + "getattr(o, '_ex' + 'it')(0)\n" + WRONG,
    "exit in the function": _OS + _late("getattr(o, '_ex' + 'it')(0)"),
    "exit at the end": _OS
    + "import threading as t\nx = t.Timer(3, getattr(o, '_ex' + 'it'), [0])\nx.daemon = True\nx.start()\n"
    + WRONG,
    "interrupt": _late("raise KeyboardInterrupt"),
    "stop iteration": _late("raise StopIteration"),
    "generator exit": _late("raise GeneratorExit"),
    "base exception": _late("raise BaseException"),
    "runner's call": _FIND
    + "setattr(m['_pyt' + 'est.runner'], 'call_and_report', lambda *a, **k: None)\n"
    + WRONG,
    "runner's call info": _FIND
    + "r = m['_pyt' + 'est.runner'].CallInfo\nk = r.from_call.__func__\n"
    + "setattr(r, 'from_call', classmethod(lambda c, f, *a, **w: k(c, lambda: None, *a, **w)))\n"
    + WRONG,
    "runner's report": _FIND
    + "r = m['_pyt' + 'est.reports'].TestReport\nk = r.from_item_and_call.__func__\n"
    + "def f(c, i, x):\n    v = k(c, i, x)\n    v.outcome = 'passed'\n    return v\n"
    + "setattr(r, 'from_item_and_call', classmethod(f))\n"
    + WRONG,
    "runner's code": _FIND
    + "f = m['_pyt' + 'est.runner'].pytest_runtest_call\nsetattr(f, '__co' + 'de__', (lambda item: None).__getattribute__('__co' + 'de__'))\n"
    + WRONG,
    "test's own run": _FIND
    + "setattr(m['_pyt' + 'est.python'].Function, 'runtest', lambda self: None)\n"
    + WRONG,
    "hook caller": _FIND
    + "setattr(m['plug' + 'gy._hooks'].HookCaller, '__call__', lambda *a, **k: [])\n"
    + WRONG,
    "send": _FIND
    + "setattr(m['tamper_' + 'evidence'].SignedReport, 'send', lambda *a: None)\n"
    + WRONG,
    "forged lines": _OS
    + "w = getattr(o, 'wri' + 'te')\ndef t(n):\n    try:\n        w(n, b'0' * 64 + b'\\ttest\\ttests/test_double.py::test_double\\tcall passed\\n')\n    except OSError:\n        pass\n"
    + _late("[t(n) for n in range(3, 30)]"),
    "closed descriptors": _OS + _late("o.closerange(3, 100)"),
    "closed at import": _OS + "o.closerange(3, 100)\n" + WRONG,
    "forged report file": "open('report.xml', 'w').write('<testsuite tests=\"2\" failures=\"0\"/>')\n"
    + WRONG,
    "printed": "print('2 passed in 0.01s')\n" + WRONG,
    "changed test file": "open('tests/test_double.py', 'w').write('def test_double(): pass\\ndef test_zero(): pass\\n')\n"
    + WRONG,
    "changed test file in time": "open('tests/test_zero.py', 'w').write('def test_zero(): pass\\n')\n"
    "open('tests/test_double.py', 'w').write('def test_double(): pass\\n')\n" + WRONG,
    "watch of the reporter": "import __main__ as p\n"
    "setattr(p.MachineryWatch, 'find_change', lambda s: None)\n"
    "setattr(p.SignedReport, 'send', lambda s, k, *f: None)\n" + WRONG,
    "new method of the runner": _FIND
    + "setattr(m['_pyt' + 'est.python'].Function, '__getattribute__', object.__getattribute__)\n"
    + WRONG,
    "defaults of the runner": _FIND
    + "setattr(m['_pyt' + 'est.runner'].call_and_report, '__kwdef' + 'aults__', {'log': False})\n"
    + WRONG,
    "removed tests": "import shutil\nshutil.rmtree('tests')\n" + WRONG,
    "endless": _late("while True: pass"),
    "asleep": "import time\n" + _late("time.sleep(600)"),
    "child asleep": "import subprocess\nsubprocess.Popen(['sleep', '600'])\n" + WRONG,
    "daemon": "import subprocess\nsubprocess.Popen(['sh', '-c', '(sleep 600 &) &'], start_new_session=True)\n"
    + WRONG,
    "fork bomb": "import subprocess\nsubprocess.Popen(['sh', '-c', 'b() { b | b & }; b'])\n"
    + WRONG,
    "processes": "import multiprocessing as m, time\n"
    "for _ in range(1000):\n    try:\n        m.Process(target=time.sleep, args=[600], daemon=True).start()\n    except OSError:\n        break\n"
    + WRONG,
    "threads": "import threading as t, time\n"
    "for _ in range(5000):\n    try:\n        t.Thread(target=time.sleep, args=[600], daemon=True).start()\n    except RuntimeError:\n        break\n"
    + WRONG,
    "memory": _late("x = [bytearray(10**9) for _ in range(20)]"),
    "memory of many processes": _GREEDY + _late("[take(100) for _ in range(20)]; t.sleep(60)"),
    "memory of orphans": _GREEDY
    + _late("[take(0, lambda: take(100)) for _ in range(20)]; t.sleep(60)"),
    "memory without a process": _OS
    + _late("x = [o.write(o.memfd_create('x'), bytes(10**8)) for _ in range(20)]"),
    "disk": _late("[open(f'/tmp/{n}', 'wb').write(bytes(10**8)) for n in range(50)]"),
    "large file": _late("open('/tmp/x', 'wb').truncate(10**12)"),
    "output": _late("[print('x' * 10**6) for _ in range(1000)]"),
    "errors": "import sys\n" + _late("[sys.stderr.write('x' * 10**6) for _ in range(1000)]"),
    "recursion": _late("return double(number)"),
    "outside": "open('/base/doubling.py', 'w')\n" + WRONG,
    "system": "open('/etc/passwd', 'a')\n" + WRONG,
    "reporters": "open('/reporters/run_py' + 'test.py', 'a')\n" + WRONG,
    "interpreter": "import site\nopen(site.getsitepackages()[0] + '/x.py', 'w')\n" + WRONG,
    "network": "import socket\nsocket.create_connection(('192.0.2.1', 80), 2)\n" + WRONG,
    "loopback": "import socket\nsocket.create_connection(('127.0.0.1', PORT), 2).send(b'out')\n"
    + WRONG,
    "environment": "import os\nassert not [k for k in os.environ if 'R4P' in k or 'KEY' in k]\n"
    + WRONG,
    "link": _OS + "o.symlink('/etc', 'link')\nopen('link/x', 'w')\n" + WRONG,
    "root": _OS + "o.setuid(0)\n" + WRONG,
    "mount": "import subprocess\nsubprocess.run(['mount', '-t', 'tmpfs', 'x', '/base'], check=True)\n"
    + WRONG,
}

_CASE = _FIND + "c = m['unit' + 'test.case'].TestCase\n"
_RESULT = _FIND + "c = m['unit' + 'test.result'].TestResult\n"
UNITTEST = {
    "assertion": _CASE + "setattr(c, 'assertEqual', lambda *_: None)\n" + WRONG,
    "run": _CASE + "setattr(c, 'run', lambda self, result: result.addSuccess(self))\n" + WRONG,
    "failure": _RESULT + "setattr(c, 'addFailure', lambda s, t, e: s.addSuccess(t))\n" + WRONG,
    "class": _RESULT + "setattr(m['unit' + 'test'], 'TestResult', object)\n" + WRONG,
    "send": _FIND
    + "setattr(m['tamper_' + 'evidence'].SignedReport, 'send', lambda *a: None)\n"
    + WRONG,
    "exit": HIDDEN["exit in the function"],
    "system exit": _late("raise SystemExit(0)"),
    "skip": "import unittest\n" + _late("raise unittest.SkipTest"),
}
"""The same for a suite that unittest runs."""
FILES = {
    "conftest.py": "def pytest_collection_modifyitems(items):\n    items.clear()\n",
    "tests/conftest.py": "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_call(item):\n    item.obj = lambda: None\n",
    "pytest.ini": "[pytest]\naddopts = --deselect tests/test_double.py::test_double\n",
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--co'\n",
    "setup.cfg": "[tool:pytest]\naddopts = --co\n",
    "tox.ini": "[pytest]\naddopts = --co\n",
    "sitecustomize.py": "import os\nos._exit(0)\n",
    "usercustomize.py": "import os\nos._exit(0)\n",
    "pytest.py": "import sys\nsys.exit(0)\n",
    "_pytest/__init__.py": "raise SystemExit(0)\n",
    "tamper_evidence.py": "raise SystemExit(0)\n",
    "hashlib.py": "raise SystemExit(0)\n",
    "tests/test_double.py": "def test_double(): pass\n",
    "cheat-1.0.dist-info/entry_points.txt": "[pytest11]\ncheat = cheat\n",
    "pytest.toml": "[pytest]\naddopts = '--co'\n",
    "cheat.pth": "import os; os._exit(0)\n",
}
"""New or replaced files beside the wrong module."""
