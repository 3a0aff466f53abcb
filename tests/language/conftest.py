"""Models that several files ask, made once."""

import numpy as np
import pytest

from tests.language.tiny_models import byte_pairs, made_texts, read_once, saved


@pytest.fixture(scope="session", autouse=True)
def _models_are_read_once():
    with read_once():
        yield


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Return the folder of a saved model, made when it is first asked for."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    made = {}

    def folder(kind="bert", seed=0, **options):
        # Tokenizers are made once each.
        name = (kind, seed, *((key, id(value)) for key, value in sorted(options.items())))
        if name not in made:
            made[name] = saved(tmp_path_factory.mktemp("model"), kind, seed, **options)
        return made[name]

    return folder


@pytest.fixture(scope="session")
def bert(folders):
    from privacygauge.language.model import load_masked

    return load_masked(folders())


@pytest.fixture(scope="session")
def gpt(folders):
    from privacygauge.language.model import load_causal

    return load_causal(folders("gpt2", tokenizer=byte_pairs(framed=False)))


@pytest.fixture(scope="session")
def texts():
    return made_texts(24, 5)


@pytest.fixture(scope="session")
def together(bert, texts):
    """Return the energies of `texts` as they are by default."""
    from privacygauge.language.likelihoods import token_log_probabilities

    return token_log_probabilities(bert, texts)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
