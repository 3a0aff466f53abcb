"""Identity: a run goes on with the code and the data that began it, or is refused in one line."""

from __future__ import annotations

import importlib.util
import sys
from itertools import count

import numpy as np
import pytest

from privacygauge.claims.defence_audit.audit import audit_training_defences
from privacygauge.claims.dtp_audit.audit import audit_dtp
from privacygauge.claims.worst_case_audit.audit import compare_worst_cases
from privacygauge.classifiers.audit.models import audit_model
from privacygauge.errors import InputError
from privacygauge.leaderboards.attack_audit.audit import attack_holdout
from privacygauge.runs.code_fingerprint import code_of
from privacygauge.runs.source import changed_pieces
from privacygauge.runs.store import read_run
from privacygauge.tables.generator_audit.audit import audit_synthetic
from tests.tables.made_tables import frame_of

NUMBERS = count()


@pytest.fixture
def users(tmp_path, monkeypatch):
    """Import a text as the user's file `users_own.py`, with `beside.py` in the same folder."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(text, beside=""):
        found = []
        for name, content in (("beside", beside), ("users_own", text)):
            folder = tmp_path / f"v{next(NUMBERS)}"
            folder.mkdir()
            path = folder / f"{name}.py"
            path.write_text(content)
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            monkeypatch.setitem(sys.modules, name, module)
            spec.loader.exec_module(module)
            (tmp_path / path.name).write_text(content)
            found.append(module)
        return found[1]

    return imported


# What a function reaches, with K where it changes, and the piece that is then named.
REACHED = {
    "its body": ("def make(s):\n    return s + K\n", "users_own.make"),
    "a constant": ("DEPTH = K\ndef make(s):\n    return s + DEPTH\n", "users_own.DEPTH"),
    "an array": (
        "import numpy as np\nW = np.arange(3) + K\ndef make(s):\n    return W[s]\n",
        "users_own.W",
    ),
    "a table": (
        "import pandas as pd\nT = pd.DataFrame({'a': [1, K]})\ndef make(s):\n    return T\n",
        "users_own.T",
    ),
    "a nested constant": (
        "S = {'b': [1, {K}], 'a': None}\ndef make(s):\n    return S\n",
        "users_own.S",
    ),
    "a helper": (
        "def help(s):\n    return K\ndef make(s):\n    return help(s)\n",
        "users_own.help",
    ),
    "a helper's helper": (
        "def one(s):\n    return K\ndef two(s):\n    return one(s)\n"
        "def make(s):\n    return two(s)\n",
        "users_own.one",
    ),
    "functions that call each other": (
        "def a(s):\n    return b(s - 1) if s else K\ndef b(s):\n    return a(s)\nmake = a\n",
        "users_own.a",
    ),
    "an own class": (
        "class Own:\n    def fit(self, x, y):\n        return K\ndef make(s):\n    return Own()\n",
        "users_own.Own.fit",
    ),
    "an attribute of a class": (
        "class Own:\n    depth = K\ndef make(s):\n    return Own()\n",
        "users_own.Own.depth",
    ),
    "a base": (
        "class Base:\n    def fit(self, x, y):\n        return K\nclass Own(Base):\n    pass\n"
        "def make(s):\n    return Own()\n",
        "users_own.Base.fit",
    ),
    "a base of a package's class": (
        "from sklearn.tree import DecisionTreeClassifier\n"
        "class Own(DecisionTreeClassifier):\n    def fit(self, x, y):\n"
        "        return super().fit(x, y + K)\ndef make(s):\n    return Own()\n",
        "users_own.Own.fit",
    ),
    "a property": (
        "class Own:\n    @property\n    def p(self):\n        return K\n"
        "def make(s):\n    return Own()\n",
        "users_own.Own.p",
    ),
    "a static method": (
        "class Own:\n    @staticmethod\n    def p():\n        return K\n"
        "def make(s):\n    return Own.p()\n",
        "users_own.Own.p",
    ),
    "a field's default": (
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass Own:\n    n: int = K\n"
        "def make(s):\n    return Own()\n",
        "users_own.Own.n",
    ),
    "a method": (
        "class Own:\n    def make(self, s):\n        return K\nmake = Own().make\n",
        "users_own.Own.make",
    ),
    "an object that is called": (
        "class Own:\n    def __call__(self, s):\n        return K\nmake = Own()\n",
        "users_own.Own.__call__",
    ),
    "a closure": (
        "def maker(k):\n    def make(s):\n        return s + k\n    return make\nmake = maker(K)\n",
        "users_own.maker.<locals>.make(k)",
    ),
    "a default": ("def make(s, k=K):\n    return s + k\n", "users_own.make(k)"),
    "a default by name": ("def make(s, *, k=K):\n    return s + k\n", "users_own.make(k)"),
    "a lambda": ("make = lambda s: s + K\n", "users_own.<lambda>"),
    "a function inside": (
        "def make(s):\n    def inner():\n        return K\n    return inner()\n",
        "users_own.make",
    ),
    "a partial's function": (
        "from functools import partial\ndef f(s, k):\n    return s + k + K\n"
        "make = partial(f, k=3)\n",
        "users_own.f",
    ),
    "a decorated function": (
        "import functools\n@functools.lru_cache\ndef cached(s):\n    return K\n"
        "def make(s):\n    return cached(s)\n",
        "users_own.cached",
    ),
    "a decorator": (
        "import functools\ndef more(f):\n    @functools.wraps(f)\n    def wrapper(s):\n"
        "        return f(s) + K\n    return wrapper\n@more\ndef make(s):\n    return s\n",
        "users_own.make",
    ),
    "a module beside": ("import beside\ndef make(s):\n    return beside.f(s)\n", "beside.f"),
    "a name from beside": ("from beside import f\ndef make(s):\n    return f(s)\n", "beside.f"),
    "an import when called": (
        "def make(s):\n    from beside import f\n    return f(s)\n",
        "beside.f",
    ),
}
BESIDE = "def f(s):\n    return s + K\n"


@pytest.mark.parametrize(("text", "piece"), REACHED.values(), ids=REACHED)
def test_whatever_is_reached_counts_and_is_named(users, text, piece):
    one, again, two = (
        code_of(users(text.replace("K", k), BESIDE.replace("K", k)).make) for k in "112"
    )
    assert one == again
    assert not one.unchecked
    told = changed_pieces(one.digests, two.digests)
    assert told is not None
    assert piece in told


def test_a_partial_counts_with_its_arguments(users):
    text = "def f(s, k):\n    return s + k\n"
    from functools import partial

    f = users(text).f
    held = [code_of(Held(partial(f, k=k))) for k in (1, 1, 2)]
    assert held[0] == held[1]
    assert (
        changed_pieces(held[0].digests, held[2].digests) == "the values of users_own.f has changed"
    )


class Held:
    """What holds code, as a trainer does."""

    def __init__(self, inner):
        self.inner = inner

    def describe(self):
        return {}


def test_comments_and_docstrings_do_not_count(users):
    one = users('def help(s):\n    """Say."""\n    return s\ndef make(s):\n    return help(s)\n')
    two = users(
        "# A comment.\n\n\ndef help(s):\n    # Another.\n    return (\n        s\n    )\n\n\n"
        "def make(s):\n    '''Return it.'''\n    return help(s)\n\n\ndef unused():\n    return 3\n"
    )
    assert code_of(one.make) == code_of(two.make)


def test_what_is_not_reached_does_not_count(users):
    text = "OTHER = K\ndef unused(s):\n    return OTHER\ndef make(s):\n    return s\n"
    one, two = (code_of(users(text.replace("K", k)).make) for k in "12")
    assert one == two


def test_packages_count_by_name_and_version(users):
    found = code_of(users("import sklearn.tree\ndef make(s):\n    return sklearn.tree\n").make)
    assert "scikit-learn" in found.digests["package sklearn"]
    assert not found.unchecked


def test_what_cannot_be_compared_is_named(users):
    text = (
        "import threading, sys\nimport numpy as np\nLOCK = threading.Lock()\n"
        "RNG = np.random.default_rng(0)\ndef make(s):\n    return LOCK, RNG\n"
    )
    found = code_of(users(text).make)
    assert found.unchecked == (
        "users_own.LOCK: a lock, whose content cannot be compared",
        "users_own.RNG: a Generator, whose state moves on",
    )


def test_code_that_is_in_no_file_counts_by_its_bytecode():
    def typed(k):
        names = {"__name__": "__main__"}
        exec(f"def f(s):\n    g = lambda: {k}\n    return g, {{'a', 'b'}}", names)
        return code_of(names["f"])

    assert typed(1) == typed(1)
    assert changed_pieces(typed(1).digests, typed(2).digests) == "__main__.f has changed"


# The user's code of every kind of run, with K in a helper, and what plays it in a folder.
TREES = """
import numpy as np
from sklearn.tree import DecisionTreeClassifier
def depth():
    return K
class Tree(DecisionTreeClassifier):
    def fit(self, x, y):
        self.max_depth = depth()
        return super().fit(x, y)
def make(random_state):
    return Tree(random_state=random_state)
def train(x, y, random_state):
    return Tree(random_state=random_state).fit(x, y)
"""
NETS = """
import torch
def width():
    return K + 3
def make(d, c):
    return torch.nn.Sequential(torch.nn.Linear(d, width()), torch.nn.Linear(width(), c))
"""
TABLES = """
def depth():
    return K
def sampled(frame, n, seed):
    return frame.sample(n, replace=True, random_state=seed + depth())
class Rows:
    def fit(self, frame):
        self.frame = frame
    def sample(self, n):
        return self.frame.iloc[[depth()] * n].reset_index(drop=True)
"""
GUARD = """
from dataclasses import dataclass
from privacygauge.leaderboards.mechanism import Memoryless
def depth():
    return K
@dataclass(frozen=True)
class Coarse(Memoryless):
    name = "coarse"
    def answer(self, marked, state):
        return round(marked.accuracy, depth()), state
    def error(self, n):
        return 0.1
    def nats(self, k, n, n_classes, accounts=None):
        return k * 3.0
"""


def records(n=40):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 3)) + y[:, None], y


def of_networks(users):
    pytest.importorskip("torch")
    from privacygauge.classifiers.networks import Networks

    return Networks(users.make, epochs=1, batch_size=20)


def tables(generator, run, **given):
    frame = frame_of(np.random.default_rng(4), 300, 2, 1)
    sizes = {"shadows": 8, "tests": 8, "size": 30, **given}
    return audit_synthetic(generator, frame, targets=[3], run=run, **sizes)


KINDS = {
    "classifier": (TREES, lambda u, run: audit_model(u.make, *records(), n_shadows=4, run=run)),
    "classifier, an instance": (
        TREES,
        lambda u, run: audit_model(u.Tree(), *records(), n_shadows=4, run=run),
    ),
    "classifier, a function": (
        TREES,
        lambda u, run: audit_model(u.train, *records(), n_shadows=4, run=run),
    ),
    "classifier, networks": (
        NETS.replace("width", "depth"),
        lambda u, run: audit_model(of_networks(u), *records(), n_shadows=4, run=run),
    ),
    "defend": (
        TREES,
        lambda u, run: audit_training_defences(
            u.make, *records(), ["rounding:1"], n_shadows=2, run=run
        ),
    ),
    "worst-case": (
        TREES,
        lambda u, run: compare_worst_cases(
            u.make, *records(), n_canaries=4, n_models=4, fprs=(0.1,), run=run
        ),
    ),
    "dtp": (
        TREES,
        lambda u, run: audit_dtp(
            u.make, *records(), rows=[0, 1], queries=0, run=run, training_sets=1, vary=2
        ),
    ),
    "synthetic, a function": (TABLES, lambda u, run: tables(u.sampled, run)),
    "synthetic, a class": (TABLES, lambda u, run: tables(u.Rows, run)),
    "holdout": (
        GUARD,
        lambda u, run: attack_holdout(np.arange(30) % 2, 5, guards=[u.Coarse()], trials=2, run=run),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "play"), KINDS.values(), ids=KINDS)
def test_changed_code_is_refused_by_every_kind_of_run(users, tmp_path, text, play):
    run = tmp_path / "run"
    first = play(users(text.replace("K", "1")), run)
    before = {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.is_file()}
    # The same code from another file, with other comments, goes on: nothing is made again.
    again = play(users("# A comment.\n" + text.replace("K", "1")), run)
    assert again.to_json() == first.to_json()
    assert {p: p.stat().st_mtime_ns for p in run.rglob("*") if p.is_file()} == before
    with pytest.raises(InputError, match="was made with other code") as found:
        play(users(text.replace("K", "2")), run)
    told = str(found.value)
    assert "was made with other code: users_own.depth" in told
    assert told.endswith("changed; restore the code, or choose another folder for a new run")
    assert len(told.splitlines()) == 1
    # Restored, it goes on.
    assert play(users(text.replace("K", "1")), run).to_json() == first.to_json()


@pytest.mark.slow
def test_a_warning_names_what_cannot_be_compared(users, tmp_path):
    text = TREES + "import threading\nLOCK = threading.Lock()\n"
    text = text.replace("return K", "return LOCK.locked() + 1")
    found = audit_model(users(text).make, *records(), n_shadows=4, run=tmp_path / "run")
    named = "code not checked: users_own.LOCK: a lock, whose content cannot be compared"
    assert named in found.warnings
    kept = audit_model(users(text).make, *records(), n_shadows=4)
    assert not any("code not checked" in line for line in kept.warnings)


@pytest.mark.slow
def test_changed_weights_are_refused(users, tmp_path):
    torch = pytest.importorskip("torch")
    from privacygauge.classifiers.networks import Networks

    # What decides is a file: no code says that it has changed.
    width = tmp_path / "width.txt"
    text = (
        "import torch\nfrom pathlib import Path\n"
        f"def make(d, c):\n    n = int(Path({str(width)!r}).read_text())\n"
        "    return torch.nn.Sequential(torch.nn.Linear(d, n), torch.nn.Linear(n, c))\n"
    )
    assert torch is not None
    own = users(text)
    width.write_text("3")
    nets = Networks(own.make, epochs=1, batch_size=20)
    audit_model(nets, *records(), n_shadows=4, run=tmp_path / "run")
    width.write_text("4")
    with pytest.raises(InputError, match="the shapes of the weights that make returns ha"):
        audit_model(nets, *records(), n_shadows=4, run=tmp_path / "run")


@pytest.mark.slow
def test_changed_data_are_refused(tmp_path):
    from sklearn.tree import DecisionTreeClassifier

    x, y = records()
    audit_model(DecisionTreeClassifier(), x, y, n_shadows=4, run=tmp_path / "run")
    with pytest.raises(InputError, match="holds another run: data is"):
        audit_model(DecisionTreeClassifier(), x + 1, y, n_shadows=4, run=tmp_path / "run")
    assert read_run(tmp_path / "run").n_done() == 5
