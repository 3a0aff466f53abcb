"""The callbacks of `audit_trainer`, one for language models and one for classifiers."""

from __future__ import annotations

import copy
import hashlib
from abc import abstractmethod
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from torch.utils.data import ConcatDataset, Subset
from transformers import Trainer, TrainerCallback

from privacygauge.classifiers.audit.predictions import audit_classifier
from privacygauge.classifiers.audit.result import Audit
from privacygauge.classifiers.predictions import predictions
from privacygauge.core import seeds
from privacygauge.core.checks import Bools, Floats, Ints
from privacygauge.core.units import equal_rows, number_units
from privacygauge.errors import InputError
from privacygauge.evaluate.canaries import CanaryFindings, canary_findings
from privacygauge.hooks.audited import dealt
from privacygauge.hooks.canaries import Canaries
from privacygauge.language.audit.audit import LanguageAudit, audit_causal, audit_masked
from privacygauge.language.canaries import random_texts
from privacygauge.language.likelihoods import token_log_probabilities
from privacygauge.language.loading import kind_of, quiet_transformers, weights_sha256
from privacygauge.language.model import load_causal, load_masked
from privacygauge.language.splitting import FILE, Coins, digest, read_coins, write_sides
from privacygauge.language.text_files import TextRecords
from privacygauge.language.texts import Texts, tokens_of_training
from privacygauge.runs.folder import scratch
from privacygauge.runs.results import check_writable, require_free

Row = dict[str, Any]
"""A record of the training set."""

MODEL = "model"
START = "reference"
"""Names of the folders of the trained language model (`MODEL`) and of the one at the start."""


@dataclass(frozen=True, eq=False)
class TrainerAuditOptions:
    """Arguments of `audit_trainer`, by the same names."""

    unit: str | ArrayLike | None
    """Person of each record, or the column with the persons."""
    text: str
    """Column of the texts."""
    canaries: Canaries | None
    """Canaries to insert."""
    reference: str | Path | None
    """Folder of the reference model."""
    tested: float
    """Share of the persons with a coin, in (0, 1]."""
    seed: int
    """Seed of all random draws."""
    level: float
    """Level of every interval, in (0, 1)."""


class TrainerAudit(TrainerCallback):
    """A callback that audits a training at its end; made by `audit_trainer`."""

    audit: LanguageAudit | Audit | None = None
    """Audit; None until the training has ended."""
    canaries: CanaryFindings | None = None
    """Findings on the canaries; None until then, or without canaries."""
    inside: Bools
    """(n,) True for the given records that are trained on."""
    tested: Bools
    """(n,) True for the records with a coin."""
    training_set: ConcatDataset[Row]
    """Training set: the records that are trained on, and the canaries that coins put in."""

    keeps_texts: ClassVar[bool]
    """Whether to write the texts of both sides next to the coins."""

    def __init__(self, trainer: Trainer, out: Path, asked: TrainerAuditOptions) -> None:
        given = trainer.train_dataset
        if given is None or not hasattr(given, "__len__") or not len(given):
            kind = type(given).__name__
            raise InputError(f"the trainer needs a train_dataset of known length, got {kind}")
        require_free(out, ("report.html", "report.json", "records.parquet", "roc.csv"))
        check_writable(out)
        self.trainer = trainer
        self.out = out
        self.asked = asked
        self.given: Any = given
        # The person of each record.
        n = len(given)
        if asked.unit is None:
            texts = self.texts(np.arange(n))
            everywhere = np.ones(n, np.bool_)
            # One class and one side for all: records are compared by their texts alone.
            unit, _ = equal_rows(number_units(texts, "text"), np.zeros(n, np.int64), everywhere)
            first = np.arange(n)
            # Equal records share the name of the first one.
            if unit is not None:
                _, where, index = np.unique(unit, return_index=True, return_inverse=True)
                first = where[index]
            self.names = tuple(f"row-{row}" for row in first.tolist())
        elif isinstance(asked.unit, str):
            if asked.unit not in given[0]:
                raise InputError(
                    f"the training set has no column {asked.unit!r} of persons; it has "
                    f"{', '.join(map(str, given[0]))}"
                )
            self.names = tuple(str(given[row][asked.unit]) for row in range(n))
        else:
            number_units(asked.unit, length=n)
            self.names = tuple(map(str, np.asarray(asked.unit).tolist()))
        owner = number_units(self.names, "unit")
        # Coins first, with a stream of their own: canaries do not change the records' coins.
        rng = seeds.stream(asked.seed, "hooks", "trainer", "coins")
        found = dealt(owner, asked.tested, rng)
        spare = np.flatnonzero(~found.tested)
        n_canaries = 0
        self.in_training = np.zeros(0, np.bool_)
        if asked.canaries is not None:
            n_canaries = asked.canaries.n
            self.in_training = rng.random(n_canaries) < 0.5
            if self.in_training.all() or not self.in_training.any():
                raise InputError(f"the coins put all {n_canaries} canaries on one side: give more")
        self.canary_rows, used = self.made_canaries(
            seeds.stream(asked.seed, "hooks", "trainer", "canaries"), n_canaries, spare
        )
        # Records that were made into canaries are not trained on as they were.
        inside = found.inside.copy()
        inside[used] = False
        self.inside = inside
        self.tested = found.tested
        # Coins are tossed once: they are written before the training, or must be those that were
        # written earlier.
        sides = {"member": self.side(True), "nonmember": self.side(False)}
        role = np.where(self.tested, np.where(self.inside, "member", "nonmember"), "trained")
        rows = zip(self.names, role.tolist(), owner.tolist(), strict=True)
        people = {name: (side, number) for name, side, number in rows}
        # Canaries are persons of their own, numbered after those of the records.
        for i, x in enumerate(self.in_training.tolist()):
            people[f"canary-{i}"] = ("member" if x else "nonmember", len(owner) + i)
        plan = None if self.asked.canaries is None else asdict(self.asked.canaries)
        source = hashlib.sha256(f"{len(self.given)} {plan}".encode()).hexdigest()
        kept = {name: digest(records) for name, records in sides.items()}
        coins = Coins(self.asked.seed, source, kept, people)
        if not (self.out / FILE).exists():
            write_sides(self.out, sides if self.keeps_texts else {}, coins)
        elif read_coins(self.out) != coins:
            raise InputError(
                f"{self.out} holds the coins of another training: give the same records, canaries "
                "and seed to resume that one, or another folder"
            )
        copies = 0 if asked.canaries is None else asked.canaries.copies
        put_in = [r for r, x in zip(self.canary_rows, self.in_training, strict=False) if x]
        parts: list[Any] = [Subset(given, np.flatnonzero(inside).tolist()), *([put_in] * copies)]
        self.training_set = ConcatDataset([part for part in parts if len(part)])

    @abstractmethod
    def made_canaries(
        self, rng: np.random.Generator, n: int, spare: Ints
    ) -> tuple[list[Row], Ints]:
        """Return n canaries, and the indices of the spare records that they were made of."""

    @abstractmethod
    def texts(self, rows: Ints) -> list[str]:
        """Return a text or a checksum for each of some records; equal records have equal ones."""

    @abstractmethod
    def audited(self) -> LanguageAudit | Audit:
        """Return the audit after the training, and set `canaries` if there are any."""

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Audit the trained model and write the report."""
        # In every process, since `Trainer.predict` needs them all; the first one alone writes.
        self.audit = self.audited()
        if state.is_world_process_zero:
            self.audit.write(self.out)

    def side(self, inside: bool) -> TextRecords:
        """Return the tested records of one side: trained on (`inside`) or held back."""
        rows = np.flatnonzero(self.tested & (self.inside == inside))
        return TextRecords(
            tuple(self.texts(rows)),
            tuple(f"row-{row}" for row in rows.tolist()),
            tuple(self.names[row] for row in rows.tolist()),
        )

    @property
    def provenance(self) -> dict[str, str]:
        """Lines of the report about the training."""
        found = {"training set": f"{len(self.given):,} records, {int(self.inside.sum()):,} put in"}
        return found if self.canaries is None else found | {"canaries": self.canaries.sentence()}


class LanguageModelAudit(TrainerAudit):
    """Audit of a causal or masked language model."""

    keeps_texts = True

    def __init__(self, trainer: Trainer, out: Path, asked: TrainerAuditOptions) -> None:
        model: Any = trainer.model
        self.adapted = hasattr(model, "peft_config")
        self.kind = kind_of([type(model.get_base_model() if self.adapted else model).__name__])
        collator = getattr(trainer.data_collator, "tokenizer", None)
        tokenizer: Any = trainer.processing_class or collator
        if not getattr(tokenizer, "is_fast", False):
            raise InputError("the trainer needs a fast tokenizer: give it as processing_class")
        if self.kind == "masked" and tokenizer.mask_token_id is None:
            raise InputError("the tokenizer of a masked language model must have a mask token")
        self.tokenizer = tokenizer
        super().__init__(trainer, out, asked)

    def texts(self, rows: Ints) -> list[str]:
        """Return the texts of some records, from their column or decoded from tokens."""
        texts = []
        for number in rows.tolist():
            row = self.given[number]
            if isinstance(row.get(self.asked.text), str):
                texts.append(str(row[self.asked.text]))
                continue
            ids = np.asarray(row["input_ids"]).tolist()
            texts.append(str(self.tokenizer.decode(ids, skip_special_tokens=True)))
        return texts

    def made_canaries(
        self, rng: np.random.Generator, n: int, spare: Ints
    ) -> tuple[list[Row], Ints]:
        """Return texts of random tokens as records of the training set's form."""
        self.canary_texts: Texts = ()
        if self.asked.canaries is None:
            return [], spare[:0]
        # The first n get coins; the others are never trained on and give the ranks their scale.
        n_all = n + self.asked.canaries.compared
        self.canary_texts = random_texts(n_all, self.asked.canaries.tokens, self.tokenizer, rng)
        return [self._row(text) for text in self.canary_texts[:n]], spare[:0]

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Save the model at the start of the training, if it is needed later."""
        # Needed as the reference, or as the base of an adapter.
        needed = self.adapted or self.asked.reference is None
        if not needed or not state.is_world_process_zero:
            return
        start = self.out / START
        # Three cases: a new training, a resumed one, and one that starts again in the same folder.
        if state.global_step == 0 and not start.exists():
            self._save(start, start=True)
        elif not (start / "config.json").is_file():
            raise InputError(
                f"{start} must hold the model that the training began with: begin again in another "
                "folder, or give a reference"
            )
        elif state.global_step == 0:
            with scratch() as place:
                self._save(Path(place), start=True)
                same = weights_sha256(Path(place)) == weights_sha256(start)
            if not same:  # another model may have seen the members
                raise InputError(
                    f"the training must begin with the model in {start}, got another one: make it "
                    "again from there, or give another folder or a reference"
                )

    def audited(self) -> LanguageAudit:
        """Return the audit by the attacks of `privacygauge language`."""
        asked = self.asked
        if self.trainer.is_world_process_zero():
            self._save(self.out / MODEL, start=False)
        # All processes read what the first one writes.
        self.trainer.accelerator.wait_for_everyone()
        device = str(self.trainer.args.device)
        load = load_causal if self.kind == "causal" else load_masked
        base = self.out / START if self.adapted else None
        target: Any = load(self.out / MODEL, device=device, base=base)
        # Without a reference, the model before the training takes its place.
        reference: Any = load(asked.reference or self.out / START, device=device)
        if asked.canaries is not None:
            n = asked.canaries.n
            loss = token_log_probabilities(target, self.canary_texts).mean()
            start = token_log_probabilities(reference, self.canary_texts[:n]).mean()
            self.canaries = canary_findings(
                self.in_training,
                # How much likelier each canary became in training, in nats per token.
                start - loss[:n],
                loss=loss[:n],
                compared=loss[n:],
                seed=asked.seed,
                level=asked.level,
            )
        play: Any = audit_causal if self.kind == "causal" else audit_masked
        sides = [self.side(True), self.side(False)]
        # Token ids of the training mean the same to both models only with equal tokenizers.
        equal_tokens = target.tokenizer.sha256 == reference.tokenizer.sha256
        if self.kind == "causal" and equal_tokens and "input_ids" in self.given[0]:
            sides = [
                replace(
                    side,
                    trained=tuple(
                        tokens_of_training(self.given[int(name.removeprefix("row-"))], text)
                        for name, text in zip(side.sample or (), side.text, strict=True)
                    ),
                )
                for side in sides
            ]
        found: LanguageAudit = play(
            target,
            reference,
            *sides,
            coins=read_coins(self.out),
            seed=asked.seed,
            level=asked.level,
            command="audit_trainer",
            provenance=self.provenance,
        )
        return found

    def _save(self, folder: Path, *, start: bool) -> None:
        """Save the model: with an adapter, its base at the start and the adapter at the end."""
        model: Any = self.trainer.accelerator.unwrap_model(self.trainer.model)
        # The saved base has the embeddings; a search for others would query a hub.
        how = {"save_embedding_layers": False} if self.adapted and not start else {}
        with quiet_transformers():
            if self.adapted and start:
                model = copy.deepcopy(model).unload()
            model.save_pretrained(folder, **how)
            self.tokenizer.save_pretrained(folder)

    def _row(self, text: str) -> Row:
        """Return a canary with the columns of the first record, and its padding."""
        form: Row = self.given[0]
        ids = np.asarray(form["input_ids"])
        pad = self.tokenizer.pad_token_id
        # Records of equal length with padding tokens: the set was padded when it was tokenised.
        filled = len(ids) == len(self.given[len(self.given) - 1]["input_ids"]) and pad in ids
        encoded: Any = self.tokenizer(
            text,
            truncation=True,
            max_length=len(ids) if filled else None,
            padding="max_length" if filled else False,
            return_special_tokens_mask=True,
            return_attention_mask=True,
        )
        row: Row = {**form, **{name: encoded[name] for name in encoded if name in form}}
        if "labels" in form:
            # A label of -100 is not trained on: padding has none, as in padded records of users.
            tokens = zip(encoded["input_ids"], encoded["attention_mask"], strict=True)
            row["labels"] = [token if kept else -100 for token, kept in tokens]
        if self.asked.text in form:
            row[self.asked.text] = text
        return {name: _match_type(form[name], value) for name, value in row.items()}


class ClassifierAudit(TrainerAudit):
    """Audit of a classifier by its predictions."""

    keeps_texts = False

    def texts(self, rows: Ints) -> list[str]:
        """Return the checksum of each of some records."""
        checksums = []
        for number in rows.tolist():
            row = self.given[number]
            found = hashlib.sha256()
            # Sorted: equal records may hold their columns in another order.
            for name in sorted(row):
                found.update(f"{name}\n".encode() + np.asarray(row[name]).tobytes())
            checksums.append(found.hexdigest())
        return checksums

    def made_canaries(
        self, rng: np.random.Generator, n: int, spare: Ints
    ) -> tuple[list[Row], Ints]:
        """Return untested records with a uniformly random wrong class each."""
        if n > len(spare):
            raise InputError(
                f"{n} canaries are made of records that are not tested, got {len(spare)}: ask for "
                "fewer, or test a smaller share"
            )
        used = np.sort(rng.permutation(spare)[:n])
        rows = [dict(self.given[row]) for row in used.tolist()]
        model: Any = self.trainer.model
        k = int(model.config.num_labels)
        # An offset of 1 to k - 1 gives every wrong class the same probability.
        for row in rows:
            name = next((name for name in ("labels", "label", "label_ids") if name in row), None)
            if name is None:
                raise InputError(f"records need a column labels for canaries, got {', '.join(row)}")
            row[name] = _match_type(row[name], (int(row[name]) + int(rng.integers(1, k))) % k)
        return rows, used

    def audited(self) -> Audit:
        """Return the audit by the attacks of `audit_classifier`."""
        from scipy.special import log_softmax

        # One prediction for all, (n + canaries, k): the tested records first.
        rows = np.flatnonzero(self.tested)
        n = len(rows)
        parts: list[Any] = [Subset(self.given, rows.tolist()), self.canary_rows]
        asked_about: Any = ConcatDataset([part for part in parts if len(part)])
        found: Any = self.trainer.predict(asked_about)
        # A model with further outputs, such as hidden states, returns a tuple.
        outputs = found.predictions
        logits = np.asarray(outputs[0] if isinstance(outputs, tuple) else outputs)
        labels: Ints = found.label_ids
        if self.asked.canaries is not None:
            log_p = log_softmax(logits[n:].astype(np.float64), axis=1)
            loss: Floats = -log_p[np.arange(len(log_p)), labels[n:]]
            self.canaries = canary_findings(
                self.in_training,
                -loss,
                loss=loss,
                compared=loss[:0],
                seed=self.asked.seed,
                level=self.asked.level,
            )
        target = predictions(
            logits=logits[:n],
            labels=labels[:n],
            member=self.inside[rows],
            ids=rows,
            unit=[self.names[row] for row in rows.tolist()],
        )
        return audit_classifier(
            target,
            drawn=True,
            seed=self.asked.seed,
            level=self.asked.level,
            command="audit_trainer",
            provenance={"model": type(self.trainer.model).__name__, **self.provenance},
        )


def callback_for(trainer: Trainer, out: Path, asked: TrainerAuditOptions) -> TrainerAudit:
    """Return the callback for the kind of a trainer's model."""
    model: Any = trainer.model
    adapters = getattr(model, "peft_config", {})
    for adapter in adapters.values():
        if adapter.is_prompt_learning:
            raise InputError(
                f"an adapter that adds tokens to every text ({adapter.peft_type.value}) cannot be "
                "audited: train one of the model's weights, such as LoRA"
            )
    name = type(model.get_base_model() if adapters else model).__name__
    if kind_of([name]) is not None:
        return LanguageModelAudit(trainer, out, asked)
    if name.endswith("Classification") and getattr(model.config, "num_labels", 1) > 1:
        return ClassifierAudit(trainer, out, asked)
    raise InputError(
        f"the model must be a causal or masked language model, or a classifier, got {name}"
    )


def _match_type(form: Any, value: Any) -> Any:
    """Return a value, as a tensor if `form` is one."""
    tensor = getattr(form, "new_tensor", None)
    return value if value is form or tensor is None else tensor(value)
