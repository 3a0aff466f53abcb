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
            help="The hidden labels: .npy with integers from 0.",
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
    from privacygauge.audits.holdout_attack.files import read_labels
    from privacygauge.errors import InputError
    from privacygauge.holdout.oracle import Budget
    from privacygauge.holdout.server import open_board
    from privacygauge.holdout.server.extra import require_extra

    if labels is None:
        raise InputError("--labels must name the file of the hidden labels: --labels labels.npy")
    require_extra()
    from privacygauge.holdout.server import running
    from privacygauge.holdout.server.web import Rates, application

    truth, budget = read_labels(labels), Budget(total, per_account, nats)
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
        )
        try:
            _log_to_stderr(quiet)
            _introduce(board, running.address(listener))
            running.run(application(board, rates), listener, proxy)
        finally:
            board.close()


@app.command()
def account(name: Name, database: Database = "leaderboard.sqlite") -> None:
    """Add an account, and print its token: once, since only a digest of it is kept.

    Example: privacygauge holdout serve account alice
    """
    from privacygauge.holdout.server.accounts import add_account

    print(add_account(_connected(database), name))


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
    from privacygauge.cli.output import emit_rows
    from privacygauge.holdout.server.standings import account_rows

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
    from privacygauge.cli.output import emit_rows
    from privacygauge.holdout.server.actions import action_rows

    emit_rows(action_rows(_connected(database)), json)


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
    from privacygauge.audits.holdout_attack.files import read_labels

    truth, source = read_labels(labels), _connected(database)
    from privacygauge.holdout.server import rescoring

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
    database: Database = "leaderboard.sqlite",
) -> None:
    """Write the log of all submissions, for the owner and for privacygauge holdout log.

    Example: privacygauge holdout serve export history.csv
    """
    from privacygauge.cli.output import check_json, emit_text
    from privacygauge.errors import InputError
    from privacygauge.holdout.server.standings import as_csv, as_json_lines, guard_of, log

    if file != "-" and not file.endswith((".csv", ".jsonl")):
        raise InputError(f"FILE must end in .csv or .jsonl, or be -, got {file}")
    check_json(file)
    form = as_csv if file.endswith(".csv") else as_json_lines
    engine = _connected(database)
    emit_text(form(log(engine), guard_of(engine)), file)


def _connected(database: str) -> Engine:
    from privacygauge.holdout.server.extra import require_extra

    require_extra()
    from privacygauge.holdout.server.database import connect

    return connect(database)


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
    print(f"{shown(board.engine)}: {now.n:,} points, {now.n_classes:,} classes, {guard}")
    print(f"{now.used:,} submissions so far, {left}{_promise(board, now)}")
    print(f"Listening at {url}; Ctrl+C stops it", flush=True)


def _promise(board: Board, now: Standings) -> str:
    """Return what the guard and the budget promise together, where there is a budget."""
    from privacygauge.holdout.bounds import guarantee, kl_bias

    accounts = max(1, now.accounts)
    most = None if now.left is None else now.used + now.left
    each = None if now.per_account is None else accounts * now.per_account
    k = min((limit for limit in (most, each) if limit is not None), default=0)
    if k == 0:
        return ": set --total, --nats or both, since every answer tells something"
    # The owner alone makes accounts; with more of them a guard for each promises less.
    apart = accounts if now.scope == "account" else None
    bias = guarantee(board.guard, now.n, now.n_classes, k, accounts=apart)
    whose = f"{accounts:,} account{'s' * (accounts > 1)}"
    if apart is None and k == most:
        whose = "any number of accounts"
    elif now.nats is not None and (by_nats := kl_bias(now.nats, now.n, now.n_classes)) <= bias:
        bias, whose = by_nats, "any number of accounts"
    return (
        f": in all they let no attack from {whose} without knowledge of the points gain more than "
        f"{100 * bias:.2g} points of accuracy over guessing (probability 0.95)"
    )
