"""Write the files of models that the tests read: `python tests/inspection/make_files.py`.

Needs skops, skl2onnx, xgboost and lightgbm, which the tests do without.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

FOLDER = Path(__file__).parent / "files"


def people() -> pd.DataFrame:
    """Return 60 made-up people; the towns of two of them are theirs alone."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 60),
            "income": rng.gamma(2.0, 15_000, 60).round(2),
            "dose": rng.normal(size=60).round(4),
            "town": rng.choice(["Leeds", "York", "Hull"], 60),
        }
    )
    frame.loc[[7, 30], "town"] = ["Nether Poppleton", "Upper Slaughter"]
    frame["sick"] = (frame["income"] + rng.normal(0, 10_000, 60) > 25_000).astype(int)
    return frame


def main() -> None:
    """Write all files."""
    import lightgbm
    import skops.io
    import xgboost
    from skl2onnx import to_onnx

    FOLDER.mkdir(exist_ok=True)
    frame = people()
    frame.to_csv(FOLDER / "people.csv", index=False)
    y = frame["sick"]
    features = frame.drop(columns="sick")
    numbers = ["age", "income", "dose"]

    def encoded() -> object:
        return make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(), ["town"]))

    models = {
        "neighbours": make_pipeline(encoded(), KNeighborsClassifier()),
        "vectors": make_pipeline(encoded(), SVC()),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
        "tree": DecisionTreeClassifier(random_state=0),
    }
    for name, model in models.items():
        x = features if name in ("neighbours", "vectors") else features[numbers]
        skops.io.dump(model.fit(x, y), FOLDER / f"{name}.skops")
    single = features[numbers].to_numpy(np.float32)
    onnx = {
        "neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier()),
        "vectors": make_pipeline(StandardScaler(), SVC()),
        "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    }
    for name, model in onnx.items():
        made = to_onnx(model.fit(single, y), single[:1])
        made.doc_string = "trained by jane from /home/jane/cohort.csv"
        entry = made.metadata_props.add()
        entry.key = "host"
        entry.value = "node7.hospital.internal"
        (FOLDER / f"{name}.onnx").write_bytes(made.SerializeToString())
    boosted = xgboost.XGBClassifier(n_estimators=3, max_depth=3).fit(features[numbers], y)
    boosted.get_booster().set_attr(note="/home/jane/cohort.csv")
    for ending in ("json", "ubj"):
        boosted.save_model(FOLDER / f"boosted.{ending}")
    trees = lightgbm.train(
        {"objective": "binary", "min_data_in_leaf": 2, "min_data_in_bin": 1, "verbose": -1},
        lightgbm.Dataset(features.assign(town=features["town"].astype("category")), y),
        num_boost_round=2,
    )
    trees.save_model(FOLDER / "boosted.txt")


if __name__ == "__main__":
    main()
