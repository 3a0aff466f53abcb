"""Recall of the built-in patterns for identifiers, on a list that Faker labels.

Faker writes names, dates, telephone numbers, addresses of mail, bank accounts, postcodes and
numbers of insurance as people in twelve countries write them; nobody who wrote the patterns chose
them. Each stands in a sentence of its language. The patterns were completed after the first eight
countries had been read, and not after the last four. An identifier is found if the stretches found
cover all of its letters and digits, and in part if they cover some. What is found in the sentences
around them is counted too. `make peers` does not install Faker: `pip install faker` in an
environment with PrivacyGauge, then `python bench/identifiers.py`.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from privacygauge.language.filling import identifiers

N = 50
"""Identifiers of a kind in a language."""

SENTENCES = {
    "en_US": "the patient came back with a cough; we noted {} in the file and sent a letter home",
    "en_GB": "he was seen on the ward with chest pain, and {} was written down before he left",
    "de_DE": "Heute kam der Mann mit Husten wieder, wir haben {} vermerkt und ihn entlassen",
    "fr_FR": "Le malade est revenu avec une toux, nous avons noté {} et il est rentré ensuite",
    "es_ES": "El enfermo vino otra vez con tos, hemos anotado {} y se fue a casa sin dolor",
    "it_IT": "Il malato è tornato con la tosse, abbiamo annotato {} e poi è andato a casa",
    "nl_NL": "De man kwam terug met hoest, wij hebben {} genoteerd en hem naar huis gestuurd",
    "pt_BR": "O doente voltou com tosse, anotamos {} e depois foi para casa sem dor",
}
UNREAD = {
    "sv_SE": "Mannen kom tillbaka med hosta, vi har antecknat {} och skickat hem honom",
    "da_DK": "Manden kom igen med hoste, vi har noteret {} og sendt ham hjem uden smerter",
    "fi_FI": "Mies palasi yskän takia, merkitsimme {} ja hän lähti kotiin ilman kipua",
    "pl_PL": "Pacjent wrócił z kaszlem, zapisaliśmy {} i odesłaliśmy go do domu bez bólu",
}
DATES = {
    "en_US": ("%m/%d/%Y", "%B %d, %Y", "%Y-%m-%d", "%b %d %Y"),
    "en_GB": ("%d/%m/%Y", "%d %B %Y", "%d-%m-%y", "%Y-%m-%d"),
}
WRITTEN = ("%d.%m.%Y", "%d/%m/%Y", "%Y-%m-%d", "%d-%m-%Y")


def made(locale: str, seed: int) -> Iterator[tuple[str, str]]:
    """Yield kinds and identifiers of a country."""
    from faker import Faker

    fake = Faker(locale)
    fake.seed_instance(seed)
    rng = random.Random(seed)
    forms: dict[str, Callable[[], str]] = {
        "name": lambda: f"{fake.first_name()} {fake.last_name()}",
        "name, family first": lambda: f"{fake.last_name()}, {fake.first_name()}".upper(),
        "date": lambda: fake.date_object().strftime(rng.choice(DATES.get(locale, WRITTEN))),
        "telephone": fake.phone_number,
        "e-mail": fake.email,
        "bank account": fake.iban,
        "postcode": fake.postcode,
        "insurance": fake.ssn,
    }
    for kind, form in forms.items():
        for _ in range(N):
            yield kind, form()


def show(sentences: Mapping[str, str], first: int) -> None:
    """Print the recall of each kind."""
    whole: Counter[str] = Counter()
    part: Counter[str] = Counter()
    n: Counter[str] = Counter()
    around = 0
    for seed, (locale, sentence) in enumerate(sentences.items(), first):
        before = sentence.index("{}")
        around += len(identifiers(sentence.replace("{}", "it")))
        for kind, value in made(locale, seed):
            text = sentence.replace("{}", value)
            covered = {i for span in identifiers(text) for i in range(span.start, span.stop)}
            needed = {before + i for i, letter in enumerate(value) if letter.isalnum()}
            n[kind] += 1
            whole[kind] += needed <= covered
            part[kind] += bool(needed & covered)
    for kind, total in n.items():
        print(f"{kind}: {whole[kind]} of {total} whole, {part[kind]} at least in part")
    print(f"all: {whole.total()} of {n.total()} whole, {part.total()} at least in part")
    print(f"found in {len(sentences)} sentences without any: {around}")


if __name__ == "__main__":
    print("countries that were read")
    show(SENTENCES, 0)
    print("countries that were not")
    show(UNREAD, len(SENTENCES))
