"""Programs as generators: every value comes there and back, and every failure is named."""

from __future__ import annotations

import json
import os
import pickle
import sys
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from privacygauge.errors import InputError
from privacygauge.tables.frames import read_table
from privacygauge.tables.generators import adapters as commands
from privacygauge.tables.generators.adapters import Call, Command
from privacygauge.tables.generators.foreign import csv_of, frame_of_csv, table_from
from privacygauge.tables.table import Column, Schema, Table
from tests.tables.made_tables import table_of
from tests.thorough import times

PYTHON = (sys.executable, "-I", "-S", "-c")
TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8) | st.sampled_from(
    [
        "a,b",
        'say "x"',
        "two\nlines",
        "\r",
        "\r\n",
        "NA",
        "nan",
        "None",
        "1.0",
        " x ",
        "Zoë",
        "'",
        "🦊",
    ]
)
FINITE = {"allow_nan": False, "allow_infinity": False}


def same(one, two):
    return np.array_equal(one.values, two.values, equal_nan=True)


def made(command, table=None, n=None, seed=0):
    table = records() if table is None else table
    return command.generate(table, len(table) if n is None else n, np.random.default_rng(seed))


def records():
    return table_of(np.random.default_rng(0), 30, 2, 2, missing=0.1)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 6))
    names = draw(st.lists(TEXT, min_size=1, max_size=4, unique=True))
    drawn = [draw(columns(name, n)) for name in names]
    schema = Schema(tuple(column for column, _ in drawn))
    return Table(schema, np.column_stack([values for _, values in drawn]))


@st.composite
def columns(draw, name, n):
    gaps = draw(arrays.arrays(bool, n))
    kind = draw(st.sampled_from(["continuous", "integer", "categorical"]))
    if kind == "categorical":
        categories = tuple(draw(st.lists(TEXT, min_size=1, max_size=5, unique=True)))
        codes = draw(arrays.arrays(np.int64, n, elements=st.integers(0, len(categories) - 1)))
        column = Column(name, kind, categories=categories, missing=bool(gaps.any()))
        return column, np.where(gaps, len(categories), codes).astype(float)
    elements = st.floats(**FINITE) if kind == "continuous" else st.integers(-(2**53), 2**53)
    numbers = np.array(draw(st.lists(elements, min_size=n, max_size=n)), dtype=float)
    column = Column(name, kind, numbers.min(), numbers.max(), missing=bool(gaps.any()))
    return column, np.where(gaps, np.nan, numbers)


LONE = Schema((Column("x", "continuous", -1.0, 1.0, missing=True),))


@pytest.mark.slow
@settings(max_examples=times(120), deadline=None)
@given(tables())
@example(Table(LONE, np.array([[np.nan], [0.1 + 0.2], [np.nan]])))
def test_every_value_comes_back_through_csv(table):
    content = csv_of(table).encode()
    back = table_from(frame_of_csv(content, table.schema, "x"), table.schema, len(table), "x")
    assert same(back, table)


@pytest.mark.slow
@settings(max_examples=times(40), deadline=None)
@given(tables())
def test_a_program_that_echoes_gives_the_table_back(table):
    assert same(made(Command("cat"), table), table)


def test_the_csv_is_plain():
    schema = Schema(
        (
            Column("a", "integer", 0, 9, missing=True),
            Column("b,c", "categorical", categories=('x"y', "z"), missing=True),
            Column("d", "continuous", 0.0, 1.0),
        )
    )
    table = Table(schema, np.array([[3.0, 0, 0.1], [np.nan, 2, 1.0], [4, 1, 1e-17]]))
    assert csv_of(table) == 'a,"b,c",d\n3,"x""y",0.1\n,,1.0\n4,z,1e-17\n'


def test_files_with_a_mark_and_the_line_ends_of_windows_are_read():
    table = records()
    content = csv_of(table).replace("\n", "\r\n").encode("utf-8-sig")
    assert same(table_from(frame_of_csv(content, table.schema, "x"), table.schema, 30, "x"), table)


def test_it_is_told_how_many_and_which_seed():
    schema = Schema(
        (Column("x", "integer", 0, 2**31), Column("y", "categorical", categories=("{", "{other}")))
    )
    script = (
        "import os, sys; e = os.environ\n"
        "assert (e['PRIVACYGAUGE_N'], e['PRIVACYGAUGE_SEED']) == tuple(sys.argv[1:3])\n"
        "print('y,x')\n"
        "for _ in range(int(sys.argv[1])): print(sys.argv[3] + ',' + sys.argv[2])"
    )
    command = Command([*PYTHON, script, "{n}", "{seed}", "{other}"])
    table = Table(schema, np.array([[0.0, 0], [1, 1]]))
    one, two, three = (made(command, table, 5, seed).values for seed in (1, 1, 2))
    assert np.array_equal(one, two)
    assert one[0, 0] != three[0, 0]
    assert (one[:, 0] == np.random.default_rng(1).integers(2**31)).all()
    assert (one[:, 1] == 1).all()


def test_quotes_and_spaces_are_taken_as_in_a_shell():
    assert Command("cat '-u' \"a b\"").args == ("cat", "-u", "a b")
    assert same(made(Command(["cat", "-"])), records())


LOUD = "import sys; sys.stderr.write('first\\n\\nlast \\x1b[31mline é\\n\\n'); "
WRONG = {
    "exit": (LOUD + "sys.exit(3)", r"ended with exit code 3 \(its last line .*: last .*line"),
    "raises": ("raise ValueError('bad')", r"exit code 1 \(.*: ValueError: bad\): run it by"),
    "quiet": ("raise SystemExit(2)", r"ended with exit code 2: run it by itself"),
    "killed": ("import os; os.kill(os.getpid(), 9)", r"was killed by SIGKILL: run it"),
    "crash": (LOUD + "import os; os.abort()", r"was killed by SIGABRT \(its last line"),
    "nothing": (LOUD, r"wrote no table \(its last line"),
    "blank": ("print()", r"must write a CSV table .*none \(it has no lines\)"),
    "bytes": (
        "import sys; sys.stdout.buffer.write(bytes(range(256)) * 9)",
        r"must write a CSV table.*none \(not in UTF-8, invalid start byte at byte 128\): write",
    ),
    "words": ("print('Training done.')", r"lacks 'cat0', .* and has besides 'Training done.': re"),
    "chatter": ("print('epoch 1'); echo()", r"record 1 has 4 fields, the header 1: 'cat0,cat1"),
    "quote": ("print('a,\"b')", r"that is none \(unexpected end of data\)"),
    "fewer": ("print(sys.stdin.readline(), end='')", "as it is asked for, 30, got 0"),
    "twice": ("echo(); echo()", "asked for, 30, got 61|has twice"),
    "NA": ("print(text.replace(',,', ',NA,'))", r"got 'NA'"),
    "text": ("print(text.replace('num0', 'num1', 1))", r"lacks 'num0' and has twice 'num1'"),
}
BEFORE = "import sys; text = sys.stdin.read() if {} else ''; echo = lambda: print(text, end='')\n"


@pytest.mark.parametrize(("script", "message"), WRONG.values(), ids=list(WRONG))
def test_what_goes_wrong_is_named_in_one_line(script, message):
    whole = BEFORE.format("sys.stdin.readline" not in script) + script
    with pytest.raises(InputError, match=message) as found:
        made(Command([*PYTHON, whole], "mine"))
    assert str(found.value).startswith("generator 'mine' ")
    assert str(found.value).isprintable()
    assert len(str(found.value)) < 420


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as stream:
            return stream.read().split()[2] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_program_that_hangs_is_stopped_with_what_it_started(tmp_path):
    script = (
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "open(sys.argv[1], 'w').write(str(child.pid)); sys.stderr.write('waiting\\n'); child.wait()"
    )
    place = tmp_path / "child"
    start = time.monotonic()
    command = Command([*PYTHON, script, str(place)], "mine", limit=0.5)
    with pytest.raises(InputError, match=r"not end within its limit of 0.5 .* error: waiting\)"):
        made(command)
    assert time.monotonic() - start < 5
    while is_running(place.read_text()) and time.monotonic() - start < 5:
        time.sleep(0.01)
    assert not is_running(place.read_text())


@pytest.mark.slow
@pytest.mark.parametrize("script", ["while True: print('y' * 99)", "print('y' * 200_000)"])
def test_a_program_that_writes_too_much_is_stopped(script, monkeypatch):
    monkeypatch.setattr(commands, "MOST_BYTES", 10_000)
    # And 1,000 bytes for each of 4 fields of 30 records and the header.
    with pytest.raises(InputError, match=r"wrote 0.134 MB and more, too much for a table: run it"):
        made(Command([*PYTHON, script]))


def test_what_it_starts_and_leaves_behind_does_not_hold_it_up():
    start = time.monotonic()
    assert same(made(Command(["sh", "-c", "cat; sleep 3 &"])), records())
    assert time.monotonic() - start < 2.5


def test_a_program_that_reads_nothing_is_no_trouble():
    rng = np.random.default_rng(0)
    large = table_of(rng, 3_000, 8, 8)
    with pytest.raises(InputError, match="exit code 1"):
        made(Command("false"), large)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Command(""), "must name a program, got none"),
        (lambda: Command([]), "must name a program, got none"),
        (lambda: Command("cat 'a"), r"cannot be read \(No closing quotation\)"),
        (lambda: Command("no-such-program-here x"), "'no-such-program-here' .* cannot be found"),
        (lambda: Command("cat", limit=0), "limit must be above 0 seconds, got 0"),
        (lambda: Command("cat", limit=float("nan")), "limit must be above 0 seconds, got nan"),
        (lambda: made(Command(["cat", "a\0b"])), r"cannot be started \(embedded null byte\)"),
    ],
)
def test_bad_commands_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_a_file_that_is_no_program_is_named(tmp_path):
    path = tmp_path / "data"
    path.write_bytes(b"\x00\x01")
    with pytest.raises(InputError, match="cannot be found or run: give its whole"):
        Command([str(path)])
    path.chmod(0o755)
    with pytest.raises(InputError, match=r"'data' cannot be started \(.*Exec format error"):
        made(Command([str(path)]))


def test_an_empty_category_is_refused_and_not_taken_for_missing():
    schema = Schema((Column("a", "categorical", categories=("", "x")),))
    with pytest.raises(InputError, match="column 'a' has the empty text as a category"):
        made(Command("cat"), Table(schema, np.zeros((2, 1))))


def test_it_describes_the_program_and_its_files(tmp_path):
    script = tmp_path / "make.py"
    script.write_text("print(1)")
    command = Command([sys.executable, str(script), "--n", "{n}"])
    described = command.describe()
    assert described["command"] == [sys.executable, str(script), "--n", "{n}"]
    assert set(described["files"]) == {sys.executable, str(script)}
    assert json.loads(json.dumps(described)) == described
    script.write_text("print(2)")
    changed = command.describe()["files"]
    assert changed[str(script)] != described["files"][str(script)]
    assert changed[sys.executable] == described["files"][sys.executable]


def test_names_and_pickles():
    assert Command("cat").name == "cat"
    assert Command(["cat", "/some/where/make.R", "-x"]).name == "cat make.R"
    assert Command(["cat", "x\n" * 99]).name.endswith("...")
    assert Command("cat", "mine").name == "mine"
    command = Command("cat", limit=5)
    assert pickle.loads(pickle.dumps(command)) == command  # noqa: S301


def test_dates_reach_a_generator_as_dates():
    given = [f"{2000 + i}-02-{1 + i:02}" for i in range(20)]
    table = read_table(pd.DataFrame({"when": [*given, None], "x": range(21)}))
    rng = np.random.default_rng(0)
    shown = Command((*PYTHON, "import sys; sys.stdout.write(sys.stdin.read())"), "mine")
    echo = Call(lambda frame, n: frame)
    texts = Call(lambda frame, n: frame.assign(when=frame["when"].dt.strftime("%d.%m.%Y")))
    later = Call(lambda frame, n: frame.assign(when=frame["when"] + pd.Timedelta(days=400)))
    for generator in (shown, echo, texts):
        found = generator.generate(table, 21, rng)
        np.testing.assert_array_equal(found.values, table.values)
    high = table.schema.columns[0].high
    found = later.generate(table, 21, rng)
    np.testing.assert_array_equal(found.values[:, 0], np.minimum(table.values[:, 0] + 400, high))
    assert found.clipped == np.count_nonzero(table.values[:, 0] + 400 > high)
    with pytest.raises(InputError, match="'when' must hold finite numbers, got 'soon'"):
        Call(lambda f, n: f.assign(when="soon"), "mine").generate(table, 21, rng)


def test_a_program_that_expects_names_of_files_is_told_how_the_tables_travel():
    program = [sys.executable, "-c", "import sys; open(sys.argv[1])", "{input}", "{n}"]
    message = r"'\{input\}' is not filled in, only \{n\} and \{seed\} are; the table comes on"
    with pytest.raises(InputError, match=message):
        made(Command(program))
