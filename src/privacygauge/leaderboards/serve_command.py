"""Commands of `privacygauge holdout serve`: the scoring server and its administration."""

from __future__ import annotations

import math
import os
import time
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privacygauge.cli import options
from privacygauge.errors import InputError
from privacygauge.kinds.command import Group, Program
from privacygauge.kinds.request import HelpGroup, amounts
from privacygauge.runs.folder import require_local

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from privacygauge.leaderboards.server.board import Board
    from privacygauge.leaderboards.server.request_parsing import HiddenLabels


LIMITS = "Budgets (those not given stay as they are; at first no limit)"
"""Heading of the options that limit submissions."""

MACHINE = "Where and how it answers"
"""Heading of the options for the machine and its network."""

_LABELS = (
    "The hidden labels: .npy with integers from 0, or .csv with columns id and label, integers or "
    "texts. The rows of a file with ids may be in any order."
)
_METRIC = (
    "accuracy (of a new database), balanced-accuracy, top:5, map@5, ndcg@5, brier, logloss:MOST, "
    "f1, macro-f1, qwk, auc, r2, mae:LOW:HIGH, mse:LOW:HIGH, rmse:LOW:HIGH, crps:LOW:HIGH, or "
    "FILE.py:NAME of your own. It cannot be changed later."
)
_OWN_METRIC = "The board's metric, if it is code of your own: FILE.py:NAME."
OwnMetricOption = Annotated[
    str | None, options.text_option("--metric", "FILE.py:NAME", _OWN_METRIC)
]
_PUBLIC = (
    "Share of the points that answers are about in a new database; the others decide "
    "in the end. Without it all."
)
_GUARD = (
    "ladder:1.3se, ladder:0.01, ladder:5%, ladder, calibrated, exact, round:2, noise:0.005, "
    "laplace:0.005 or thresholdout:0.04; of a new database a Ladder with a step of the size of "
    "chance. It cannot be changed later."
)
_SCOPE = (
    "Whose submissions the guard remembers together: those of an account (of a new "
    "database), or all. It cannot be changed later."
)
_KEEP = "Keep the submitted labels in a new database, to score them again with rescore."
_PROXY = "Address of a proxy in front, whose X-Forwarded-For is believed."
_WATCHED = amounts("findings", "hints")
_WATCH_LIMITS = (
    "End with code 3 once METRIC is above VALUE: findings (accounts that stand out) or hints "
    "(accounts worth a look). An account counts until it is hidden or shown, or a submission of it "
    "is voided and the rest shows nothing. May be given several times."
)
_MOST_NAMED = 20
"""Number of accounts that a line names."""
_FILE = "A name that ends in .csv or .jsonl; - writes JSON lines to the standard output."

Database = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        envvar="PRIVACYGAUGE_DATABASE",
        help="An SQLite file, made where there is none, or postgresql://user@host/name.",
    ),
]
Name = Annotated[str, options.positional_argument("NAME", "Name of the account.")]

Reason = Annotated[str, options.text_option("--reason", "TEXT", "Why, for the log.")]

app = typer.Typer(
    name="serve",
    invoke_without_command=True,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@dataclass(frozen=True, kw_only=True)
class _ServeOptions:
    """Options of `privacygauge holdout serve`."""

    labels: Annotated[Path | None, options.text_option("--labels", "FILE", _LABELS)] = None
    metric: Annotated[str | None, options.text_option("--metric", "METRIC", _METRIC)] = None
    public: Annotated[float | None, options.text_option("--public", "SHARE", _PUBLIC)] = None
    classes: Annotated[
        int | None,
        options.text_option(
            "--classes", "M", "Classes; without it one more than the largest label."
        ),
    ] = None
    guard: Annotated[str | None, options.text_option("--guard", "GUARD", _GUARD)] = None
    scope: Annotated[str | None, options.text_option("--scope", "account|board", _SCOPE)] = None
    database: Database = "leaderboard.sqlite"
    keep: Annotated[bool, options.switch("--keep", _KEEP)] = False
    per_account: Annotated[
        int | None, options.text_option("--per-account", "K", "Submissions of one account.", LIMITS)
    ] = None
    total: Annotated[
        int | None,
        options.text_option("--total", "K", "Submissions of all accounts together.", LIMITS),
    ] = None
    nats: Annotated[
        float | None,
        options.text_option(
            "--nats", "X", "Information that all answers together may carry.", LIMITS
        ),
    ] = None
    host: Annotated[
        str, options.text_option("--host", "ADDRESS", "Address to listen at.", MACHINE, shown=True)
    ] = "127.0.0.1"
    port: Annotated[
        int,
        options.text_option("--port", "N", "Port; 0 for one that is free.", MACHINE, shown=True),
    ] = 8000
    rate: Annotated[
        int,
        options.text_option(
            "--rate", "N", "Submissions of one account in a minute.", MACHINE, shown=True
        ),
    ] = 1_000
    address_rate: Annotated[
        int,
        options.text_option(
            "--address-rate", "N", "Requests of one address in a minute.", MACHINE, shown=True
        ),
    ] = 10_000
    proxy: Annotated[str | None, options.text_option("--proxy", "ADDRESS", _PROXY, MACHINE)] = None
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Write no line for each request.")
    ] = False


@app.callback()
@options.from_fields(_ServeOptions)
def serve(context: typer.Context, asked: _ServeOptions) -> None:
    """Serve a leaderboard that keeps the labels: a guard, budgets, and a log that is never lost.

    Example: privacygauge holdout serve --labels labels.npy --total 1000

    Example: privacygauge holdout serve account alice
    """
    if context.invoked_subcommand is not None:
        return
    from privacygauge.leaderboards.oracle import Budget
    from privacygauge.leaderboards.server import open_board, require_extra

    if asked.labels is None:
        raise InputError("--labels must name the file of the hidden labels: --labels labels.npy")
    require_extra()
    from privacygauge.leaderboards.server import running
    from privacygauge.leaderboards.server.request_parsing import read_hidden
    from privacygauge.leaderboards.server.standings import cost, introduction
    from privacygauge.leaderboards.server.web import Rates, application

    hidden = read_hidden(asked.labels)
    budget = Budget(asked.total, asked.per_account, asked.nats)
    rates = Rates(asked.rate, asked.address_rate)
    # The port first, since opening the board may change its limits: a server that cannot start must
    # not have done so.
    with (
        running.listening(asked.host, asked.port) as listener,
        closing(
            open_board(
                asked.database,
                hidden,
                n_classes=asked.classes,
                guard=asked.guard,
                scope=asked.scope,
                budget=budget,
                keep=asked.keep or None,  # a board that exists keeps its own setting
                metric=asked.metric,
                public=asked.public,
            )
        ) as board,
    ):
        running.log_to_stderr(asked.quiet)
        print(introduction(board), cost(board), sep="\n", flush=True)

        def say_where() -> None:
            print(f"Listening at {running.address(listener)}; Ctrl+C stops it", flush=True)

        app = application(board, rates)
        running.run(app, listener, when_ready=say_where, proxy=asked.proxy)


@app.command()
def account(
    names: Annotated[list[str], options.positional_argument("NAME...", "Names.")],
    database: Database = "leaderboard.sqlite",
) -> None:
    """Add accounts, and print their tokens: once, since only a digest of each is kept.

    Of several accounts each line has the name, a tab and the token.

    Example: privacygauge holdout serve account alice
    """
    engine = _connect(database)
    from privacygauge.leaderboards.server.accounts import add_account, checked_name

    # All names are checked before the first account is added.
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
    from privacygauge.leaderboards.server import contest

    print("\n".join(contest.invite(_connect(database), number)))


@app.command()
def contest(
    title: Annotated[str | None, options.text_option("--title", "TEXT", "Of the page.")] = None,
    rules: Annotated[
        Path | None, options.text_option("--rules", "FILE", "A text, for the page.")
    ] = None,
    per_day: Annotated[
        int | None,
        options.text_option("--per-day", "K", "Submissions of one account a day, in UTC."),
    ] = None,
    finals: Annotated[
        int | None,
        options.text_option("--finals", "K", "Submissions that an account may choose for the end."),
    ] = None,
    judged_by: Annotated[
        str | None,
        options.text_option(
            "--judged-by",
            "exact|shown",
            "Judge of teams without a choice: the best exact public score, or the best shown.",
        ),
    ] = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Say what the page says, and set limits; what is not given stays as it was.

    Example: privacygauge holdout serve contest --title "Autumn contest" --per-day 5
    """
    from privacygauge.datasets.reading import read_text
    from privacygauge.leaderboards.server.contest import describe

    require_local(rules or "", "rules are read from a file")
    text = None if rules is None else read_text(rules, "rules")
    again = describe(
        _connect(database),
        title=title,
        rules=text,
        per_day=per_day,
        finals=finals,
        judged_by=judged_by,
    )
    if again:
        print(
            f"Chosen before were more than {finals}, so that these choices are removed, and the "
            f"accounts choose again: {', '.join(again)}"
        )


@app.command()
def phase(
    name: Annotated[str, options.positional_argument("NAME", "Name of the phase.")],
    opens: Annotated[str | None, options.text_option("--opens", "TIME", "ISO 8601.")] = None,
    closes: Annotated[
        str | None,
        options.text_option("--closes", "TIME", "ISO 8601; a day without a time is its end."),
    ] = None,
    zone: Annotated[
        str, options.text_option("--zone", "ZONE", "Of times that name none.", shown=True)
    ] = "UTC",
    remove: Annotated[bool, options.switch("--remove", "Remove this phase.")] = False,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Take submissions between two moments alone; one of several such phases, or the only one.

    Example: privacygauge holdout serve phase main --opens 2026-03-01 --closes 2026-06-01T18:00
    """
    from privacygauge.leaderboards.server.contest import remove_phase, set_phase

    if remove:
        if opens is not None or closes is not None:
            raise InputError("--remove takes neither --opens nor --closes")
        remove_phase(_connect(database), name)
        return
    if opens is None or closes is None:
        raise InputError("--opens and --closes must both be given, or --remove")
    set_phase(_connect(database), name, opens, closes, zone=zone)


@app.command()
def results(database: Database = "leaderboard.sqlite", json: options.Json = None) -> None:
    """List every team's private score beside the public one: what it was overfitted by.

    Example: privacygauge holdout serve results
    """
    from privacygauge.cli.output import check_json, emit_rows, print_line
    from privacygauge.leaderboards.server.standings import ending

    # A place that cannot be written is refused before the scores are worked out.
    check_json(json)
    found = ending(_connect(database))
    emit_rows([asdict(each) for each in found.results], json)
    if found.results:
        ranks = "unknown, as all are level" if math.isnan(found.ranks) else f"{found.ranks:.2f}"
        print_line(
            f"Public less private: {found.mean_difference:+.4f} on average; rank correlation "
            f"{ranks}; p-values are corrected for {len(found.results)} teams (Holm)"
        )


@app.command()
def token(name: Name, database: Database = "leaderboard.sqlite") -> None:
    """Give an account a new token in place of the one it has, and print it.

    Example: privacygauge holdout serve token alice
    """
    from privacygauge.leaderboards.server.accounts import renew_token

    print(renew_token(_connect(database), name))


@app.command()
def revoke(name: Name, database: Database = "leaderboard.sqlite") -> None:
    """Take an account's token away; what it submitted stays.

    Example: privacygauge holdout serve revoke alice
    """
    from privacygauge.leaderboards.server.accounts import revoke_token

    revoke_token(_connect(database), name)


@app.command()
def accounts(database: Database = "leaderboard.sqlite", json: options.Json = None) -> None:
    """List the accounts: submissions, token, whether hidden, and the account merged into.

    Example: privacygauge holdout serve accounts
    """
    from privacygauge.cli.output import check_json, emit_rows
    from privacygauge.leaderboards.server.standings import account_rows

    check_json(json)
    emit_rows(account_rows(_connect(database)), json)


@app.command()
def hide(name: Name, reason: Reason, database: Database = "leaderboard.sqlite") -> None:
    """Take an account off the board; its submissions stay in the log and in the budgets.

    Example: privacygauge holdout serve hide alice --reason "shared labels with bob"
    """
    from privacygauge.leaderboards.server.accounts import hide_account

    hide_account(_connect(database), name, reason)


@app.command()
def show(name: Name, reason: Reason, database: Database = "leaderboard.sqlite") -> None:
    """Put an account that was hidden back on the board.

    Example: privacygauge holdout serve show alice --reason "an error of ours"
    """
    from privacygauge.leaderboards.server.accounts import show_account

    show_account(_connect(database), name, reason)


@app.command()
def actions(database: Database = "leaderboard.sqlite", json: options.Json = None) -> None:
    """List when accounts were hidden or shown again, and why.

    Example: privacygauge holdout serve actions
    """
    from privacygauge.cli.output import check_json, emit_rows
    from privacygauge.leaderboards.server.accounts import action_rows

    check_json(json)
    emit_rows(action_rows(_connect(database)), json)


@app.command()
def watch(
    labels: Annotated[
        Path | None,
        options.text_option(
            "--labels", "FILE", "The hidden labels, to find more in kept submissions."
        ),
    ] = None,
    throttle: Annotated[
        int | None,
        options.text_option(
            "--throttle", "K", "Submissions a day left to accounts that stand out."
        ),
    ] = None,
    every: Annotated[
        float, options.text_option("--every", "SECONDS", "Between two looks.", shown=True)
    ] = 60.0,
    once: Annotated[bool, options.switch("--once", "Look once, and end.")] = False,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-above",
            metavar="METRIC=VALUE",
            autocompletion=options.names(*(f"{metric}=" for metric in _WATCHED)),
            help=_WATCH_LIMITS,
        ),
    ] = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Look for attacks in the log while the contest runs, and print who stands out.

    Example: privacygauge holdout serve watch --labels labels.npy --throttle 1

    Example: privacygauge holdout serve watch --once --fail-above findings=0 --fail-above hints=0
    """
    from privacygauge.cli.output import exceeded_text, parsed_limits, print_line
    from privacygauge.report.numbers import first_names

    limits = parsed_limits(fail_above, _WATCHED)
    engine = _connect(database)
    from privacygauge.leaderboards.server.request_parsing import read_hidden
    from privacygauge.leaderboards.server.watching import look, open_cases

    if not 0 < every < float("inf"):
        raise InputError(f"--every must be a number of seconds above 0, got {every:g}")
    hidden = None if labels is None else read_hidden(labels)
    while True:
        for alert in look(engine, labels=hidden, throttle=throttle):
            what = "worth a look, and no finding: " if alert.hint else ""
            said = f"{alert.account}: {what}{alert.reason} (p = {alert.p_value:.2g})"
            print(said, flush=True)
        if limits:
            cases = open_cases(engine)
            failures = [
                f"privacygauge: {line}: {first_names(cases[limit.metric], _MOST_NAMED)}"
                for limit in limits
                if (line := exceeded_text(len(cases[limit.metric]), limit))
            ]
            if failures:
                print_line("\n".join(failures))
                raise typer.Exit(3)
        if once:
            return
        time.sleep(every)


@app.command()
def merge(
    name: Name,
    other: Annotated[str, options.positional_argument("OTHER", "The account that ends.")],
    labels: Annotated[Path, options.text_option("--labels", "FILE", "The hidden labels.")],
    reason: Reason,
    metric: OwnMetricOption = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Make OTHER a part of account NAME: the guard is replayed as for one account.

    Example: privacygauge holdout serve merge alice alice2 --labels labels.npy --reason "one team"
    """
    from privacygauge.report.numbers import several

    engine = _connect(database)
    from privacygauge.leaderboards.server.request_parsing import read_hidden
    from privacygauge.leaderboards.server.rescoring import check_merge, merge_accounts

    hidden = read_hidden(labels)
    check_merge(name, other, reason)
    with closing(_begun_board(engine, database, hidden, metric)) as board:
        found = merge_accounts(board, name, other, reason)
    best = "no score" if found.best is None else f"the score {found.best:.6g}"
    print(f"{name}: {several(found.submissions, 'submission')}, {best}")
    if found.not_chosen:
        undone = ", ".join(map(str, found.not_chosen))
        print(f"No longer chosen for the end, since a team has fewer choices: {undone}")


@app.command()
def void(
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="As on its receipt.")],
    labels: Annotated[Path, options.text_option("--labels", "FILE", "The hidden labels.")],
    reason: Reason,
    metric: OwnMetricOption = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Void a submission: it stays in the log and in the budgets, and counts for nothing else.

    Example: privacygauge holdout serve void 17 --labels labels.npy --reason "leaked labels"
    """
    engine = _connect(database)
    from privacygauge.leaderboards.server.accounts import checked_reason
    from privacygauge.leaderboards.server.request_parsing import read_hidden
    from privacygauge.leaderboards.server.rescoring import void_submission

    hidden = read_hidden(labels)
    checked_reason(reason)
    with closing(_begun_board(engine, database, hidden, metric)) as board:
        best = void_submission(board, number, reason)
    left = "no score" if best is None else f"the score {best:.6g}"
    print(f"Submission {number} is void; its account has {left}")


@app.command()
def publish(
    undo: Annotated[bool, options.switch("--undo", "Hide the results again.")] = False,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Show every team's result on the points for the end on the board's page; close the contest.

    No submission is taken, and no team changes its choice, while the results are shown.

    Example: privacygauge holdout serve publish
    """
    from privacygauge.leaderboards.server import contest

    contest.publish(_connect(database), shown=not undo)
    print(
        "The results are hidden again: teams that looked have seen them"
        if undo
        else "The results are shown, and the contest is closed"
    )


@app.command()
def rescore(
    new: Annotated[str, options.positional_argument("NEW", "The new database.")],
    labels: Annotated[
        Path,
        options.text_option("--labels", "FILE", "The hidden labels, corrected or the same."),
    ],
    metric: Annotated[
        str | None,
        options.text_option("--metric", "METRIC", "Another metric of the same submissions."),
    ] = None,
    guard: Annotated[str | None, options.text_option("--guard", "GUARD", "Another guard.")] = None,
    public: Annotated[
        float | None,
        options.text_option("--public", "SHARE", "Another public part, drawn afresh."),
    ] = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Make all submissions again on a new board of the same contest, and say what changed.

    Everything goes along but submissions of hidden accounts: limits, phases, teams, mergers,
    choices, invitations and actions. It is done at once, or not at all.

    Example: privacygauge holdout serve rescore corrected.sqlite --labels corrected.npy

    Example: privacygauge holdout serve rescore new.sqlite --labels labels.npy --metric f1
    """
    from privacygauge.report.numbers import several

    source = _connect(database)
    from privacygauge.leaderboards.server import rescoring
    from privacygauge.leaderboards.server.request_parsing import read_hidden

    hidden = read_hidden(labels)
    found = rescoring.rescore(source, new, hidden, metric=metric, guard=guard, public=public)
    made = several(found.submissions, "submission")
    print(f"{new}: {made}, {found.changed:,} with another answer")
    for team in found.moved:
        before, after = (
            "no score" if score is None else f"{score:.6g} (place {place})"
            for score, place in ((team.before, team.place_before), (team.after, team.place_after))
        )
        print(f"{team.account}: {before} before, {after} now")
    if found.out_of_order:
        print(
            "Warning: the teams are now hardly better than a constant answer. Labels without ids "
            "have to be in the order of the old ones."
        )
    if found.left_out:
        print(f"Left out: {', '.join(found.left_out)}")
    if found.renumbered:
        print(
            f"{several(found.renumbered, 'submission')} "
            f"{'has' if found.renumbered == 1 else 'have'} another number than on the receipt, "
            "since the hidden accounts' are left out"
        )


@app.command()
def export(
    file: Annotated[str, options.positional_argument("FILE|-", _FILE)],
    exact: Annotated[
        bool,
        options.switch(
            "--exact",
            "Add the exact scores, which no guard has answered, and the private ones once results "
            "are published.",
        ),
    ] = False,
    private: Annotated[
        bool,
        options.switch(
            "--private",
            "Add the exact scores, the private ones and the teams' choices while the contest runs.",
        ),
    ] = False,
    answers: Annotated[
        str | None,
        options.text_option(
            "--answers",
            "NPZ",
            "Write the kept labels of all submissions to this file, for holdout log --predictions.",
        ),
    ] = None,
    database: Database = "leaderboard.sqlite",
) -> None:
    """Write the log of all submissions, for the owner and for privacygauge holdout log.

    Example: privacygauge holdout serve export history.csv

    Example: privacygauge holdout serve export history.csv --exact --answers answers.npz

    Example: privacygauge holdout serve export history.csv --private
    """
    from sqlalchemy import select

    from privacygauge.cli.output import check_json, emit_text, print_line
    from privacygauge.leaderboards.server.database import BOARD, reading
    from privacygauge.leaderboards.server.standings import as_csv, as_json_lines, entries

    if file != "-" and not file.endswith((".csv", ".jsonl")):
        raise InputError(f"FILE must end in .csv or .jsonl, or be -, got {file}")
    check_json(file, [database], "FILE")
    form = as_csv if file.endswith(".csv") else as_json_lines
    # Readable by the owner alone: the log shows more than the board.
    earlier = os.umask(0o077)
    try:
        engine = _connect(database)
        # What cannot be exported is refused before the first file is written.
        text = form(entries(engine, exact=exact, private=private))
        if answers is not None:
            _write_answers(engine, answers)
        emit_text(text, file, "FILE")
        with reading(engine) as connection:
            board = connection.execute(select(BOARD)).mappings().one()
        if exact and not private and board["public"] is not None and not board["published"]:
            print_line(
                "The private scores are left out until privacygauge holdout serve publish: "
                "whoever reads this file before the end would know them. To audit the contest "
                "while it runs, ask for them: privacygauge holdout serve export --private"
            )
    finally:
        os.umask(earlier)


def _write_answers(engine: Engine, answers: str) -> None:
    """Write the kept labels, (k, points), the points' places and names, and the classes'."""
    import numpy as np

    from privacygauge.leaderboards.history.reading import CLASSES, IDS, POINTS
    from privacygauge.leaderboards.history.submitted import labels_on
    from privacygauge.leaderboards.server.database import reading
    from privacygauge.leaderboards.server.opening import names_of_board
    from privacygauge.leaderboards.server.watching import kept_answers

    if not answers.endswith(".npz"):
        raise InputError(f"--answers must end in .npz, got {answers}")
    found, points = kept_answers(engine)
    every = labels_on(found, np.arange(len(points)))
    written: dict[str, Any] = {"predictions": every, POINTS: points}
    with reading(engine) as connection:
        names, classes = names_of_board(connection)
    if names is not None:
        written[IDS] = np.array(names)[points]
    if classes is not None:
        written[CLASSES] = np.array(classes)
    try:
        np.savez_compressed(answers, **written)
    except OSError as error:
        raise InputError(f"{answers} cannot be written: {error.strerror or error}") from error


def _begun_board(engine: Engine, database: str, hidden: HiddenLabels, metric: str | None) -> Board:
    """Return the board that a database has to hold, opened with the owner's labels."""
    from privacygauge.leaderboards.server import open_board
    from privacygauge.leaderboards.server.database import begun_board, reading
    from privacygauge.leaderboards.server.opening import names_of_board

    with reading(engine) as connection:
        begun_board(connection)
        points, classes = names_of_board(connection)
    engine.dispose()
    # A board without names gets none here: they would change how submissions are written.
    hidden = replace(
        hidden,
        ids=None if points is None else hidden.ids,
        classes=None if classes is None else hidden.classes,
    )
    return open_board(database, hidden, metric=metric)


def _connect(database: str) -> Engine:
    from privacygauge.leaderboards.server import require_extra

    require_extra()
    from privacygauge.leaderboards.server.database import engine_of

    return engine_of(database)


COMMANDS = (
    Group(
        "holdout",
        "Measure what a test set gives away through the scores of submissions.",
        HelpGroup.TEST_SET,
    ),
    Program("holdout serve", HelpGroup.TEST_SET, app),
)
"""The group of all commands about test sets, and the scoring server."""
