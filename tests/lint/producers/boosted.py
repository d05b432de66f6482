#!/usr/bin/env python3
"""boosted.py FOLDER: gradient boosting of LightGBM and XGBoost as onnxmltools writes it, and pipelines of tables of mixed columns.

Needs lightgbm, xgboost, onnxmltools, pandas, scikit-learn, skl2onnx. FOLDER/NAME/model.onnx.
"""
import pathlib
import sys
import warnings

import lightgbm
import numpy as np
import onnxmltools
import pandas
import xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from skl2onnx import to_onnx
from sklearn import compose, ensemble, feature_extraction, feature_selection, impute, linear_model, neighbors, pipeline, preprocessing
from sklearn import svm

warnings.filterwarnings("ignore")
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(200, 6)).astype(np.float32)
SUM = X @ RANDOM.normal(size=6)
CLASS, THREE, COUNT = (SUM > 0).astype(int), np.digitize(SUM, (-1, 1)), RANDOM.poisson(np.exp(0.2 * SUM))


def boosters():
    kind = [("input", FloatTensorType([None, 6]))]
    few = {"n_estimators": 12, "max_depth": 4}
    for name, target in (("binary", CLASS), ("multi", THREE)):
        yield f"lightgbm_{name}", lambda y=target: onnxmltools.convert_lightgbm(
            lightgbm.LGBMClassifier(verbose=-1, **few).fit(X, y), initial_types=kind, zipmap=False)
        yield f"xgboost_{name}", lambda y=target: onnxmltools.convert_xgboost(
            xgboost.XGBClassifier(**few).fit(X, y), initial_types=kind)
    for name, target, how in (("squares", SUM, "regression"), ("poisson", COUNT, "poisson"), ("tweedie", COUNT, "tweedie"),
                              ("absolute", SUM, "regression_l1"), ("quantile", SUM, "quantile")):
        yield f"lightgbm_{name}", lambda y=target, o=how: onnxmltools.convert_lightgbm(
            lightgbm.LGBMRegressor(verbose=-1, objective=o, **few).fit(X, y), initial_types=kind)
    for name, target, how in (("squares", SUM, "reg:squarederror"), ("poisson", COUNT, "count:poisson"),
                              ("logistic", CLASS, "reg:logistic")):
        yield f"xgboost_{name}", lambda y=target, o=how: onnxmltools.convert_xgboost(
            xgboost.XGBRegressor(objective=o, **few).fit(X, y), initial_types=kind)
    yield "lightgbm_split", lambda: onnxmltools.convert_lightgbm(
        lightgbm.LGBMRegressor(verbose=-1, n_estimators=40).fit(X, SUM), initial_types=kind, split=10)


def table():
    return pandas.DataFrame({"age": X[:, 0] * 10 + 40, "pay": np.exp(X[:, 1]).astype(np.float32),
                             "rooms": RANDOM.integers(1, 6, 200), "city": RANDOM.choice(["a", "b", "c"], 200),
                             "kind": RANDOM.choice(["x", "y"], 200)})


def mixed(last):
    parts = compose.ColumnTransformer([
        ("numbers", pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler()),
         ["age", "pay", "rooms"]),
        ("words", preprocessing.OneHotEncoder(handle_unknown="ignore"), ["city", "kind"])])
    return pipeline.make_pipeline(parts, last)


def pipelines():
    t = table()
    for name, last in (("logistic", linear_model.LogisticRegression()), ("forest", ensemble.RandomForestClassifier(12)),
                       ("histogram", ensemble.HistGradientBoostingClassifier(max_iter=12)), ("near", neighbors.KNeighborsClassifier()),
                       ("machine", svm.SVC(probability=True)), ("vote", ensemble.VotingClassifier(
                           [("a", linear_model.LogisticRegression()), ("b", ensemble.ExtraTreesClassifier(8))], voting="soft"))):
        yield f"mixed_{name}", lambda last=last: to_onnx(mixed(last).fit(t, CLASS), t[:1])
    for name, steps in (("power", (preprocessing.PowerTransformer(), linear_model.Ridge())),
                        ("bins", (preprocessing.KBinsDiscretizer(4, encode="onehot-dense"), linear_model.Lasso(0.01))),
                        ("powers", (preprocessing.PolynomialFeatures(2), preprocessing.MinMaxScaler(), linear_model.HuberRegressor())),
                        ("best", (feature_selection.SelectKBest(k=3), preprocessing.RobustScaler(), linear_model.BayesianRidge())),
                        ("quantiles", (preprocessing.SplineTransformer(), linear_model.PoissonRegressor())),
                        ("stack", (ensemble.StackingRegressor([("a", linear_model.Ridge()), ("b", svm.SVR())]),))):
        yield f"chain_{name}", lambda s=steps: to_onnx(pipeline.make_pipeline(*s).fit(X, np.abs(SUM)), X[:1])
        yield f"chain_{name}_double", lambda s=steps: to_onnx(
            pipeline.make_pipeline(*s).fit(X.astype(np.float64), np.abs(SUM)), X[:1].astype(np.float64))
    words = np.array(["good film", "bad film", "very good", "very bad plot"] * 10).reshape(-1, 1)
    text = pipeline.make_pipeline(compose.ColumnTransformer([("t", feature_extraction.text.TfidfVectorizer(), 0)]),
                                  linear_model.SGDClassifier(loss="log_loss"))
    yield "text", lambda: to_onnx(text.fit(words, [1, 0, 1, 0] * 10), words[:1])


def main():
    folder, written = pathlib.Path(sys.argv[1]), 0
    for name, make in (*boosters(), *pipelines()):
        try:
            model = make()
        except Exception as e:  # noqa: BLE001: said by name
            print(f"{name}: not exported: {type(e).__name__}: {(str(e).strip() or '?').splitlines()[0][:150]}")
            continue
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "model.onnx").write_bytes(model.SerializeToString())
        written += 1
    print(written, "models in", folder)


if __name__ == "__main__":
    main()
