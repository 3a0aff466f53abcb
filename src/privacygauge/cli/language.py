"""`privacygauge language`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privacygauge.cli import completion, options
from privacygauge.cli import language_options as asked
from privacygauge.cli.train_reference import train_reference

_EITHER = (
    "give either --scores, energies that were computed already, or --target, a model, with "
    "--members and --nonmembers"
)

app = typer.Typer(name="language")
app.command()(train_reference)


@app.callback(invoke_without_command=True)
def language(
    context: typer.Context,
    scores: Annotated[
        Path | None,
        typer.Option(
            "--scores",
            metavar="FILE",
            help="Energies of samples: .jsonl, .jsonl.gz, .csv or .parquet with the columns "
            "sample, energy_target and member (0 or 1), and as far as known group (the patient), "
            "energy_reference, population (0 or 1), length (tokens), text and signal_NAME of "
            "further signals.",
            show_default=False,
        ),
    ] = None,
    target: asked.Target = None,
    reference: asked.Reference = None,
    members: asked.Members = None,
    nonmembers: asked.NonMembers = None,
    population: asked.Population = None,
    text: asked.TextColumn = None,
    ids: asked.IdColumn = None,
    group: asked.GroupColumn = None,
    answers: asked.Answers = None,
    kind: asked.Kind = None,
    masks: asked.Masks = None,
    pattern: asked.Pattern = None,
    form: asked.Form = None,
    device: asked.Device = None,
    precision: asked.Precision = None,
    jobs: asked.Jobs = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            "--threshold",
            metavar="NAME",
            autocompletion=completion.names(*completion.THRESHOLDS),
            help="Where thresholds come from: population, oracle (the judged non-members "
            "themselves) or mean-train (the members' mean); several as a,b. Default: population, "
            "or oracle without one; the loss also with mean-train.",
            show_default=False,
        ),
    ] = None,
    fpr: Annotated[
        list[str] | None,
        typer.Option(
            "--fpr",
            metavar="RATE",
            help="False-positive rate that thresholds are chosen for; several as 0.1,0.01, which "
            "is the default.",
            show_default=False,
        ),
    ] = None,
    show: Annotated[
        list[str] | None,
        typer.Option(
            "--show",
            metavar="COLUMN",
            help="Print text or length beside the samples most at risk (default: ids only).",
            show_default=False,
        ),
    ] = None,
    out: options.Out = None,
    seed: options.Seed = 0,
    json: options.Json = None,
    quiet: options.Quiet = False,
    level: options.Level = 0.95,
    fail_above: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-above",
            metavar="METRIC=VALUE",
            autocompletion=completion.metrics,
            help="Exit with code 3 if METRIC is above VALUE, or if a control says that the test "
            "is not honest: accuracy, auc, advantage, tpr@0.1, tpr@0.01, tpr@0.001 (the highest "
            "of all attacks, sample by sample), epsilon, patient-auc, patient-accuracy; add .low "
            "for the lower end of the interval. May be given several times.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Audit a language model, from the model itself or from energies of texts.

    Example: privacygauge language --target model --reference other --members in.jsonl
    --nonmembers out.jsonl

    Example: privacygauge language --scores energies.jsonl --threshold population --fpr 0.1
    """
    from privacygauge.audits.language.says import METRICS
    from privacygauge.cli.language_models import language_model_request, language_models_of_request
    from privacygauge.cli.language_request import LanguageRequest, language_of_request, rates_in
    from privacygauge.cli.output import destination, emit
    from privacygauge.cli.runs import RUN
    from privacygauge.errors import InputError
    from privacygauge.report.limits import exceeded, parsed_limits

    every = {
        "reference": reference,
        "members": members,
        "nonmembers": nonmembers,
        "population": population,
        "text": text,
        "id": ids,
        "group": group,
        "answers": answers,
        "kind": kind,
        "masks": masks,
        "pattern": pattern,
        "form": form,
        "device": device,
        "precision": precision,
    }
    of_models = {name: value for name, value in every.items() if value is not None}
    if context.invoked_subcommand is not None:
        if scores or target or of_models:
            raise InputError(f"{context.invoked_subcommand} takes no options of an audit")
        return
    if (scores is None) == (target is None):
        raise InputError(_EITHER)
    limits = parsed_limits(fail_above, METRICS)
    shared = (
        options.names_in(threshold),
        rates_in(options.names_in(fpr)),
        options.names_in(show),
        seed,
        level,
    )
    if scores is not None:
        for name in (*of_models, *(() if jobs is None else ("jobs",))):
            raise InputError(f"--{name} goes with --target, a model; --scores holds energies")
        folder = destination(out, json, "privacygauge-report")
        found = language_of_request(LanguageRequest(scores, *shared))
    else:
        request = language_model_request(str(target), of_models, *shared)
        folder = destination(out, json, "privacygauge-report")
        run = None if folder is None else folder / RUN
        found = language_models_of_request(
            request, run, jobs=1 if jobs is None else jobs, quiet=quiet
        )
    raise typer.Exit(emit(found, folder, json, quiet, exceeded(found.report(), limits)))
