"""`privacygauge holdout serve`: the scoring server, and what its owner does beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privacygauge.cli import options

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from privacygauge.holdout.server.board import Board
    from privacygauge.holdout.server.standings import Standings

LIMITS = "Budgets (those not given stay as they are; at first no limit)"
"""The heading of options that limit submissions."""

MACHINE = "Where and how it answers"
"""The heading of options that concern the machine."""

Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        envvar="PRIVACYGAUGE_DATABASE",
        help="An SQLite file, made where there is none, or postgresql://user@host/name.",
    ),
]
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the account.", show_default=False)
]

Reason = Annotated[
    str, typer.Option("--reason", metavar="TEXT", help="Why, for the log.", show_default=False)
]

app = typer.Typer(
    name="serve",
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def serve(
    context: typer.Context,
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="The hidden labels: .npy with integers from 0, or .csv with columns id and label.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            "--metric",
            metavar="METRIC",
            help="accuracy (of a new database), balanced-accuracy, top:5, brier, logloss:MOST, f1, "
            "auc, or mae:LOW:HIGH, mse:LOW:HIGH, rmse:LOW:HIGH. It cannot be changed later.",
            show_default=False,
        ),
    ] = None,
    public: Annotated[
        float | None,
        typer.Option(
            "--public",
            metavar="SHARE",
            help="Share of the points that answers are about in a new database; the others decide "
            "in the end. Without it all.",
            show_default=False,
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option(
            "--classes",
            metavar="M",
            help="Classes; without it one more than the largest label.",
            show_default=False,
        ),
    ] = None,
    guard: Annotated[
        str | None,
        typer.Option(
            "--guard",
            metavar="GUARD",
            help="ladder:0.01, ladder, calibrated, exact, round:2, noise:0.005, laplace:0.005 or "
            "thresholdout:0.04; of a new database ladder:STEP, the step 1/sqrt(n). It cannot be "
            "changed later.",
            show_default=False,
        ),
    ] = None,
    scope: Annotated[
        str | None,
        typer.Option(
            "--scope",
            metavar="account|board",
            help="Whose submissions the guard remembers together: those of an account (of a new "
            "database), or all. It cannot be changed later.",
            show_default=False,
        ),
    ] = None,
    database: Database = "leaderboard.sqlite",
    keep: Annotated[
        bool,
        typer.Option(
            "--keep",
            help="Keep the submitted labels in a new database, to score them again with rescore.",
        ),
    ] = False,
    per_account: Annotated[
        int | None,
        typer.Option(
            "--per-account",
            metavar="K",
            help="Submissions of one account.",
            show_default=False,
            rich_help_panel=LIMITS,
        ),
    ] = None,
    total: Annotated[
        int | None,
        typer.Option(
            "--total",
            metavar="K",
            help="Submissions of all accounts together.",
            show_default=False,
            rich_help_panel=LIMITS,
        ),
    ] = None,
    nats: Annotated[
        float | None,
        typer.Option(
            "--nats",
            metavar="X",
            help="Information that all answers together may carry.",
            show_default=False,
            rich_help_panel=LIMITS,
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            "--host", metavar="ADDRESS", help="Address to listen at.", rich_help_panel=MACHINE
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", help="Port; 0 for one that is free.", rich_help_panel=MACHINE
        ),
    ] = 8000,
    rate: Annotated[
        int,
        typer.Option(
            "--rate",
            metavar="N",
            help="Submissions of one account in a minute.",
            rich_help_panel=MACHINE,
        ),
    ] = 1_000,
    address_rate: Annotated[
        int,
        typer.Option(
            "--address-rate",
            metavar="N",
            help="Requests of one address in a minute.",
            rich_help_panel=MACHINE,
        ),
    ] = 10_000,
    proxy: Annotated[
        str | None,
        typer.Option(
            "--proxy",
            metavar="ADDRESS",
            help="Address of a proxy in front, whose X-Forwarded-For is believed.",
            show_default=False,
            rich_help_panel=MACHINE,
        ),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Write no line for each request.")
    ] = False,
) -> None:
    """Serve a leaderboard that keeps the labels: a guard, budgets, and a log that is never lost.

    Example: privacygauge holdout serve --labels labels.npy --total 1000

    Example: privacygauge holdout serve account alice
    """
    if context.invoked_subcommand is not None:
        return
    from dataclasses import replace

    from privacygauge.errors import InputError
    from privacygauge.holdout.oracle import Budget
    from privacygauge.holdout.server import open_board
    from privacygauge.holdout.server.extra import require_extra

    if labels is None:
        raise InputError("--labels must name the file of the hidden labels: --labels labels.npy")
    require_extra()
    from privacygauge.holdout.server import running
    from privacygauge.holdout.server.hidden import read_hidden
    from privacygauge.holdout.server.web import Rates, application

    (truth, ids), budget = read_hidden(labels), Budget(total, per_account, nats)
    rates = Rates(rate, address_rate)
    # The port first: a server that cannot start should not have changed a limit.
    with running.listening(host, port) as listener:
        board = open_board(
            database,
            truth,
            n_classes=classes,
            guard=guard,
            scope=scope,
            budget=budget,
            keep=keep or None,
            metric=metric,
            public=public,
        )
        board = replace(board, ids=ids)
        try:
            _log_to_stderr(quiet)
            _introduce(board, running.address(listener))
            running.run(application(board, rates), listener, proxy)
        finally:
            board.close()


@app.command()
def account(
    names: Annotated[
        list[str], typer.Argument(metavar="NAME...", help="Names.", show_default=False)
    ],
    database: Database = "leaderboard.sqlite",
) -> None:
    """Add accounts, and print their tokens: once, since only a digest of each is kept.

    Of several accounts each line has the name, a tab and the token.

    Example: privacygauge holdout serve account alice
    """
    engine = _connected(database)
    from privacygauge.holdout.server.accounts import add_account, checked_name

    for name in dict.fromkeys([checked_name(name) for name in names]):
        print(f"{name}\t" * (len(names) > 1) + add_account(engine, name))


@app.command()
def invite(
    number: Annotated[int, typer.Argument(metavar="N", help="How many.")] = 1,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Print invitations: with each of them somebody can make one account for themselves.

    Example: privacygauge holdout serve invite 50
    """
    from privacygauge.holdout.server import contest

    print("\n".join(contest.invite(_connected(database), number)))


@app.command()
def contest(
    title: Annotated[
        str | None, typer.Option("--title", metavar="TEXT", help="Of the page.")
    ] = None,
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="FILE", help="A text, for the page.")
    ] = None,
    per_day: Annotated[
        int | None,
        typer.Option("--per-day", metavar="K", help="Submissions of one account a day, in UTC."),
    ] = None,
    finals: Annotated[
        int | None,
        typer.Option(
            "--finals", metavar="K", help="Submissions that an account may choose for the end."
        ),
    ] = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Say what the page says, and set limits; what is not given stays as it was.

    Example: privacygauge holdout serve contest --title "Autumn contest" --per-day 5
    """
    from privacygauge.datasets.reading import read_text
    from privacygauge.holdout.server.contest import describe
    from privacygauge.runs.folder import require_local

    require_local(rules or "", "rules are read from a file")
    text = None if rules is None else read_text(rules, "rules")
    describe(_connected(database), title=title, rules=text, per_day=per_day, finals=finals)


@app.command()
def phase(
    name: Name,
    opens: Annotated[str, typer.Option("--opens", metavar="TIME", help="ISO 8601; UTC.")],
    closes: Annotated[str, typer.Option("--closes", metavar="TIME", help="ISO 8601; UTC.")],
    database: Database = "leaderboard.sqlite",
) -> None:
    """Take submissions between two moments alone; one of several such phases, or the only one.

    Example: privacygauge holdout serve phase main --opens 2026-03-01 --closes 2026-06-01T18:00
    """
    from privacygauge.holdout.server.contest import set_phase

    set_phase(_connected(database), name, opens, closes)


@app.command()
def results(database: Database = "leaderboard.sqlite", json: options.Json = None) -> None:
    """List every team's private score beside the public one: what it was overfitted by.

    Example: privacygauge holdout serve results
    """
    from dataclasses import asdict

    from privacygauge.cli.output import check_json, emit_rows, told
    from privacygauge.holdout.server.ending import ending

    check_json(json)
    found = ending(_connected(database))
    emit_rows([asdict(each) for each in found.results], json)
    if found.results:
        told(
            f"Public less private: {found.mean_difference:+.4f} on average; rank correlation "
            f"{found.ranks:.2f}; p-values are corrected for {len(found.results)} teams (Holm)"
        )


@app.command()
def token(name: Name, database: Database = "leaderboard.sqlite") -> None:
    """Give an account a new token in place of the one it has, and print it.

    Example: privacygauge holdout serve token alice
    """
    from privacygauge.holdout.server.accounts import renew_token

    print(renew_token(_connected(database), name))


@app.command()
def revoke(name: Name, database: Database = "leaderboard.sqlite") -> None:
    """Take an account's token away; what it submitted stays.

    Example: privacygauge holdout serve revoke alice
    """
    from privacygauge.holdout.server.accounts import revoke_token

    revoke_token(_connected(database), name)


@app.command()
def accounts(database: Database = "leaderboard.sqlite", json: options.Json = None) -> None:
    """List the accounts: how much each submitted, and whether it has a token.

    Example: privacygauge holdout serve accounts
    """
    from privacygauge.cli.output import check_json, emit_rows
    from privacygauge.holdout.server.standings import account_rows

    check_json(json)
    emit_rows(account_rows(_connected(database)), json)


@app.command()
def hide(name: Name, reason: Reason, database: Database = "leaderboard.sqlite") -> None:
    """Take an account off the board; its submissions stay in the log and in the budgets.

    Example: privacygauge holdout serve hide alice --reason "shared labels with bob"
    """
    from privacygauge.holdout.server.actions import hide_account

    hide_account(_connected(database), name, reason)


@app.command()
def show(name: Name, reason: Reason, database: Database = "leaderboard.sqlite") -> None:
    """Put an account that was hidden back on the board.

    Example: privacygauge holdout serve show alice --reason "an error of ours"
    """
    from privacygauge.holdout.server.actions import show_account

    show_account(_connected(database), name, reason)


@app.command()
def actions(database: Database = "leaderboard.sqlite", json: options.Json = None) -> None:
    """List when accounts were hidden or shown again, and why.

    Example: privacygauge holdout serve actions
    """
    from privacygauge.cli.output import check_json, emit_rows
    from privacygauge.holdout.server.actions import action_rows

    check_json(json)
    emit_rows(action_rows(_connected(database)), json)


@app.command()
def watch(
    labels: Annotated[
        Path | None,
        typer.Option(
            "--labels", metavar="FILE", help="The hidden labels, to find more in kept submissions."
        ),
    ] = None,
    throttle: Annotated[
        int | None,
        typer.Option(
            "--throttle", metavar="K", help="Submissions a day left to accounts that stand out."
        ),
    ] = None,
    every: Annotated[
        float, typer.Option("--every", metavar="SECONDS", help="Between two looks.")
    ] = 60.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Look for attacks in the log while the contest runs, and print who stands out.

    Example: privacygauge holdout serve watch --labels labels.npy --throttle 1
    """
    import time

    engine = _connected(database)
    from privacygauge.errors import InputError
    from privacygauge.holdout.server.hidden import read_hidden
    from privacygauge.holdout.server.watching import look

    if not 0 < every < float("inf"):
        raise InputError(f"--every must be a number of seconds above 0, got {every:g}")
    truth = None if labels is None else read_hidden(labels)[0]
    while True:
        for alert in look(engine, labels=truth, throttle=throttle):
            print(f"{alert.account}: {alert.reason} (p = {alert.p_value:.2g})", flush=True)
        if once:
            return
        time.sleep(every)


@app.command()
def merge(
    name: Name,
    other: Annotated[
        str, typer.Argument(metavar="OTHER", help="The account that ends.", show_default=False)
    ],
    labels: Annotated[Path, typer.Option("--labels", metavar="FILE", help="The hidden labels.")],
    reason: Reason,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Make OTHER a part of account NAME: the guard is replayed as for one account.

    Example: privacygauge holdout serve merge alice alice2 --labels labels.npy --reason "one team"
    """
    _connected(database).dispose()
    from privacygauge.holdout.server import open_board
    from privacygauge.holdout.server.hidden import read_hidden
    from privacygauge.holdout.server.merging import check_merge, merge_accounts

    truth = read_hidden(labels)[0]
    check_merge(name, other, reason)
    board = open_board(database, truth)
    try:
        found = merge_accounts(board, name, other, reason)
    finally:
        board.close()
    best = "no score" if found.best is None else f"the score {found.best:.6g}"
    print(f"{name}: {found.submissions:,} submissions, {best}")


@app.command()
def rescore(
    new: Annotated[
        str, typer.Argument(metavar="NEW", help="The new database.", show_default=False)
    ],
    labels: Annotated[
        Path,
        typer.Option(
            "--labels",
            metavar="FILE",
            help="The hidden labels, corrected or the same: .npy.",
            show_default=False,
        ),
    ],
    database: Database = "leaderboard.sqlite",
) -> None:
    """Make all submissions again on a new board, without those of hidden accounts.

    Example: privacygauge holdout serve rescore corrected.sqlite --labels corrected.npy
    """
    source = _connected(database)
    from privacygauge.holdout.server import rescoring
    from privacygauge.holdout.server.hidden import read_hidden

    truth = read_hidden(labels)[0]

    found = rescoring.rescore(source, new, truth)
    print(f"{new}: {found.submissions:,} submissions, {found.changed:,} with another answer")
    if found.left_out:
        print(f"Left out: {', '.join(found.left_out)}")


@app.command()
def export(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="A name that ends in .csv or .jsonl; - writes JSON lines to the standard output.",
            show_default=False,
        ),
    ],
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Add the exact scores, which no guard has answered."),
    ] = False,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Write the log of all submissions, for the owner and for privacygauge holdout log.

    Example: privacygauge holdout serve export history.csv
    """
    from privacygauge.cli.output import check_json, emit_text
    from privacygauge.errors import InputError
    from privacygauge.holdout.server.standings import as_csv, as_json_lines, entries

    if file != "-" and not file.endswith((".csv", ".jsonl")):
        raise InputError(f"FILE must end in .csv or .jsonl, or be -, got {file}")
    check_json(file)
    form = as_csv if file.endswith(".csv") else as_json_lines
    emit_text(form(entries(_connected(database), exact=exact)), file)


def _connected(database: str) -> Engine:
    from privacygauge.holdout.server.extra import require_extra

    require_extra()
    from privacygauge.holdout.server.database import engine_of

    return engine_of(database)


def _log_to_stderr(quiet: bool) -> None:
    import logging

    from privacygauge.holdout.server.running import JsonLines

    to = logging.StreamHandler()
    to.setFormatter(JsonLines())
    for name, level in (
        ("privacygauge.server", "WARNING" if quiet else "INFO"),
        ("uvicorn", "ERROR"),
    ):
        logging.getLogger(name).addHandler(to)
        logging.getLogger(name).setLevel(level)


def _introduce(board: Board, url: str) -> None:
    from privacygauge.holdout.server.database import shown
    from privacygauge.holdout.server.standings import standings

    now = standings(board)
    left = "no limit on what is left" if now.left is None else f"{now.left:,} left"
    guard = f"guard {now.guard} for {'each account' if now.scope == 'account' else 'the board'}"
    classes = f", {now.n_classes:,} classes" if now.n_classes else ""
    kept = f" and {now.n_private:,} for the end" if now.n_private else ""
    metric = "" if now.metric == "accuracy" else f", metric {now.metric}"
    print(f"{shown(board.engine)}: {now.n:,} points{kept}{classes}{metric}, {guard}")
    print(f"{now.used:,} submissions so far, {left}{_promise(board, now)}")
    print(f"Listening at {url}; Ctrl+C stops it", flush=True)


def _promise(board: Board, now: Standings) -> str:
    """Return what the guard and the budget promise together, where there is a budget."""
    from privacygauge.holdout.bounds import kl_bias, transcript_nats
    from privacygauge.holdout.metrics import ACCURACY, metric_bias

    hidden, metric = board.holdout, board.holdout.metric

    def most_gained(nats: float) -> float:
        if metric == ACCURACY:
            return kl_bias(nats, now.n, now.n_classes)
        return metric_bias(metric, hidden.labels, nats)

    accounts = max(1, now.accounts)
    most = None if now.left is None else now.used + now.left
    each = None if now.per_account is None else accounts * now.per_account
    k = min((limit for limit in (most, each) if limit is not None), default=0)
    if k == 0:
        return ": set --total, --nats or both, since every answer tells something"
    # The owner alone makes accounts; with more of them a guard for each promises less.
    apart = accounts if now.scope == "account" else None
    m = max(2, now.n_classes)
    bias = most_gained(transcript_nats(board.guard, k, now.n, m, accounts=apart))
    whose = f"{accounts:,} account{'s' * (accounts > 1)}"
    if apart is None and k == most:
        whose = "any number of accounts"
    elif now.nats is not None and (by_nats := most_gained(now.nats)) <= bias:
        bias, whose = by_nats, "any number of accounts"
    return (
        f": in all they let no attack from {whose} without knowledge of the points gain more than "
        f"{100 * bias:.2g} points {'of accuracy' if metric == ACCURACY else 'in a hundred'} over "
        "guessing (probability 0.95)"
    )
