"""Trains a model and a shadow model, and saves what each says about records that it knows or not.

Stands for your own script: it writes the two files that the release gate audits.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

import privacygauge as pg


def records(rng, n=300):
    """Return made-up visits: eight measurements, and whether the patient was sent home."""
    x = rng.normal(size=(n, 8))
    return x, (x[:, 0] + rng.normal(size=n) > 0).astype(np.int64)


def answers(seed):
    """Return a model's answers about the half that it learnt from, and about the other half."""
    rng = np.random.default_rng(seed)
    x, y = records(rng)
    member = rng.random(len(y)) < 0.5
    model = LogisticRegression().fit(x[member], y[member])
    return pg.predictions(labels=y, member=member, probs=model.predict_proba(x))


pg.save_predictions(answers(0), "target.npz")
pg.save_predictions(answers(1), "shadow.npz")
