#!/usr/bin/env python3
"""estimators.py DIR: models that skl2onnx exports, with scikit-learn's own outputs, for tests/conformance/run.py.

Expected are the estimator's results in float64 from float32 inputs. Zip maps are off: scores stay tensors.
"""
import json
import pathlib
import sys
import warnings

import numpy as np
import onnxruntime as ort
from onnx import helper, numpy_helper
from skl2onnx import to_onnx
from sklearn import (calibration, cluster, compose, cross_decomposition, datasets, decomposition, discriminant_analysis, ensemble, feature_selection,
                     gaussian_process, impute, isotonic, kernel_approximation, linear_model, mixture, model_selection, multiclass, multioutput, naive_bayes, neighbors,
                     neural_network, pipeline, preprocessing, random_projection, svm, tree)


# rtol and atol where the exported model itself loses digits: distances as |a|^2 - 2ab + |b|^2 in float32, of which results of
# up to 10 are sums. ONNX Runtime is off by 5.5e-4 there.
TOLERANCES = {"gaussian_process": (1e-3, 1e-3)}


def integers(make_attribute):
    """Lists of bools as ints: the exporter makes them, and protobuf takes them no more."""
    def wrapped(key, value, *args, **kwargs):
        if isinstance(value, (list, np.ndarray)) and any(isinstance(v, (bool, np.bool_)) for v in value):
            value = [int(v) for v in value]
        return make_attribute(key, value, *args, **kwargs)
    return wrapped


helper.make_attribute = integers(helper.make_attribute)


def estimators():
    """(name, estimator, which data it learns from)."""
    three, two, real, positive = "three", "two", "real", "positive"
    rows = [
        ("linear_regression", linear_model.LinearRegression(), real),
        ("ridge", linear_model.Ridge(alpha=0.5), real),
        ("lasso", linear_model.Lasso(alpha=0.1), real),
        ("elastic_net", linear_model.ElasticNet(alpha=0.1), real),
        ("bayesian_ridge", linear_model.BayesianRidge(), real),
        ("huber", linear_model.HuberRegressor(max_iter=500), real),
        ("sgd_regressor", pipeline.make_pipeline(preprocessing.StandardScaler(), linear_model.SGDRegressor(random_state=0)), real),
        ("poisson", linear_model.PoissonRegressor(), positive),
        ("logistic_two", linear_model.LogisticRegression(max_iter=1000), two),
        ("logistic_three", linear_model.LogisticRegression(max_iter=1000), three),
        ("ridge_classifier", linear_model.RidgeClassifier(), three),
        ("sgd_classifier", pipeline.make_pipeline(
            preprocessing.StandardScaler(), linear_model.SGDClassifier(loss="log_loss", alpha=0.05, random_state=0)), three),
        ("perceptron", linear_model.Perceptron(random_state=0), three),
        ("linear_svc", svm.LinearSVC(), three),
        ("linear_svr", svm.LinearSVR(max_iter=20000), real),
        ("svc_linear", svm.SVC(kernel="linear"), three),
        ("svc_rbf_two", svm.SVC(kernel="rbf"), two),
        ("svc_poly", svm.SVC(kernel="poly", degree=2), three),
        ("svc_sigmoid", svm.SVC(kernel="sigmoid"), three),
        ("nu_svc", svm.NuSVC(nu=0.3), three),
        ("svr_rbf", svm.SVR(kernel="rbf"), real),
        ("svr_poly", svm.SVR(kernel="poly", degree=2), real),
        ("nu_svr", svm.NuSVR(), real),
        ("one_class_svm", svm.OneClassSVM(), real),
        ("decision_tree", tree.DecisionTreeClassifier(max_depth=5, random_state=0), three),
        ("decision_tree_regressor", tree.DecisionTreeRegressor(max_depth=6, random_state=0), real),
        ("extra_tree", tree.ExtraTreeClassifier(max_depth=5, random_state=0), three),
        ("random_forest_two", ensemble.RandomForestClassifier(20, max_depth=5, random_state=0), two),
        ("random_forest_three", ensemble.RandomForestClassifier(20, max_depth=5, random_state=0), three),
        ("random_forest_regressor", ensemble.RandomForestRegressor(20, max_depth=6, random_state=0), real),
        ("extra_trees", ensemble.ExtraTreesClassifier(20, max_depth=5, random_state=0), three),
        ("extra_trees_regressor", ensemble.ExtraTreesRegressor(20, max_depth=6, random_state=0), real),
        ("gradient_boosting_two", ensemble.GradientBoostingClassifier(n_estimators=20, random_state=0), two),
        ("gradient_boosting_three", ensemble.GradientBoostingClassifier(n_estimators=10, random_state=0), three),
        ("gradient_boosting_regressor", ensemble.GradientBoostingRegressor(n_estimators=30, random_state=0), real),
        ("hist_gradient_boosting", ensemble.HistGradientBoostingClassifier(max_iter=10, random_state=0), three),
        ("hist_gradient_boosting_two", ensemble.HistGradientBoostingClassifier(max_iter=10, random_state=0), two),
        ("hist_gradient_boosting_regressor", ensemble.HistGradientBoostingRegressor(max_iter=20, random_state=0), real),
        ("ada_boost", ensemble.AdaBoostClassifier(n_estimators=8, random_state=0), three),
        ("ada_boost_regressor", ensemble.AdaBoostRegressor(n_estimators=5, random_state=0), real),
        ("bagging", ensemble.BaggingClassifier(n_estimators=5, random_state=0), three),
        ("bagging_regressor", ensemble.BaggingRegressor(n_estimators=5, random_state=0), real),
        ("isolation_forest", ensemble.IsolationForest(n_estimators=10, random_state=0), real),
        ("voting", ensemble.VotingClassifier([("a", linear_model.LogisticRegression(max_iter=1000)),
                                              ("b", tree.DecisionTreeClassifier(max_depth=4, random_state=0))],
                                             voting="soft", flatten_transform=False), three),
        ("stacking_regressor", ensemble.StackingRegressor([("a", linear_model.Ridge()),
                                                           ("b", tree.DecisionTreeRegressor(max_depth=4, random_state=0))]), real),
        ("k_neighbors", neighbors.KNeighborsClassifier(3), three),
        ("k_neighbors_regressor", neighbors.KNeighborsRegressor(4), real),
        ("gaussian_nb", naive_bayes.GaussianNB(), three),
        ("multinomial_nb", naive_bayes.MultinomialNB(), three),
        ("bernoulli_nb", naive_bayes.BernoulliNB(binarize=2.0), three),
        ("complement_nb", naive_bayes.ComplementNB(), three),
        ("mlp_classifier", neural_network.MLPClassifier(hidden_layer_sizes=(12,), max_iter=300, random_state=0), three),
        ("mlp_regressor", neural_network.MLPRegressor(hidden_layer_sizes=(12,), max_iter=300, random_state=0), real),
        ("lda", discriminant_analysis.LinearDiscriminantAnalysis(), three),
        ("qda", discriminant_analysis.QuadraticDiscriminantAnalysis(reg_param=0.1), three),
        ("gaussian_process", gaussian_process.GaussianProcessRegressor(alpha=0.5, random_state=0), real),
        ("lars", linear_model.Lars(), real),
        ("lasso_lars", linear_model.LassoLars(alpha=0.01), real),
        ("omp", linear_model.OrthogonalMatchingPursuit(n_nonzero_coefs=3), real),
        ("ransac", linear_model.RANSACRegressor(random_state=0), real),
        ("theil_sen", linear_model.TheilSenRegressor(random_state=0), real),
        ("quantile", linear_model.QuantileRegressor(alpha=0.01), real),
        ("tweedie", linear_model.TweedieRegressor(power=1.5, link="log"), positive),
        ("gamma", linear_model.GammaRegressor(), positive),
        ("logistic_cv", linear_model.LogisticRegressionCV(max_iter=500, cv=3, l1_ratios=(0,), use_legacy_attributes=False), three),
        ("ridge_cv", linear_model.RidgeCV(), real),
        ("passive_aggressive", linear_model.SGDRegressor(loss="epsilon_insensitive", alpha=0.001, random_state=0), positive),
        ("svc_probabilities", calibration.CalibratedClassifierCV(svm.SVC(), ensemble=False), three),
        ("calibrated", calibration.CalibratedClassifierCV(tree.DecisionTreeClassifier(max_depth=3, random_state=0), cv=3), three),
        ("radius_neighbors", neighbors.RadiusNeighborsRegressor(1.5), real),
        ("nearest_centroid", neighbors.NearestCentroid(), three),
        ("local_outlier", neighbors.LocalOutlierFactor(novelty=True), real),
        ("isotonic", isotonic.IsotonicRegression(), "one"),
        ("grid_search", model_selection.GridSearchCV(tree.DecisionTreeClassifier(random_state=0), {"max_depth": [2, 4]}), three),
        ("pls", cross_decomposition.PLSRegression(2), real),
        ("stacking", ensemble.StackingClassifier([("a", linear_model.LogisticRegression(max_iter=1000)),
                                                  ("b", tree.DecisionTreeClassifier(max_depth=4, random_state=0))]), three),
        ("voting_regressor", ensemble.VotingRegressor([("a", linear_model.Ridge()),
                                                       ("b", tree.DecisionTreeRegressor(max_depth=4, random_state=0))]), real),
        ("one_vs_one", multiclass.OneVsOneClassifier(linear_model.LogisticRegression(max_iter=1000)), three),
        ("output_code", multiclass.OutputCodeClassifier(linear_model.LogisticRegression(max_iter=1000), random_state=0), three),
        ("multi_output", multioutput.MultiOutputRegressor(ensemble.GradientBoostingRegressor(n_estimators=5, random_state=0)), "many"),
        ("random_forest_many", ensemble.RandomForestRegressor(5, max_depth=4, random_state=0), "many"),
        ("linear_many", linear_model.LinearRegression(), "many"),
        ("categorical_nb", naive_bayes.CategoricalNB(), "counts"),
        ("bayesian_mixture", mixture.BayesianGaussianMixture(n_components=2, random_state=0), real),
        ("gaussian_process_classifier", gaussian_process.GaussianProcessClassifier(random_state=0), two),
        ("random_trees", ensemble.RandomTreesEmbedding(3, max_depth=3, random_state=0, sparse_output=False), real),
        ("one_vs_rest", multiclass.OneVsRestClassifier(linear_model.LogisticRegression(max_iter=1000)), three),
        ("k_means", cluster.KMeans(3, n_init=3, random_state=0), real),
        ("mini_batch_k_means", cluster.MiniBatchKMeans(3, n_init=3, random_state=0), real),
        ("gaussian_mixture", mixture.GaussianMixture(2, random_state=0), real),
        ("pipeline_pca", pipeline.make_pipeline(preprocessing.StandardScaler(), decomposition.PCA(3),
                                                linear_model.LogisticRegression(max_iter=1000)), three),
        ("pipeline_columns", pipeline.make_pipeline(
            compose.ColumnTransformer([("a", preprocessing.StandardScaler(), [0, 1]), ("b", preprocessing.MinMaxScaler(), [2])]),
            ensemble.RandomForestClassifier(10, max_depth=4, random_state=0)), three),
    ]
    transforms = [
        ("standard_scaler", preprocessing.StandardScaler()), ("min_max_scaler", preprocessing.MinMaxScaler()),
        ("max_abs_scaler", preprocessing.MaxAbsScaler()), ("robust_scaler", preprocessing.RobustScaler()),
        ("normalizer", preprocessing.Normalizer()), ("normalizer_l1", preprocessing.Normalizer("l1")),
        ("binarizer", preprocessing.Binarizer(threshold=2.5)),
        ("polynomial", preprocessing.PolynomialFeatures(2)), ("power", preprocessing.PowerTransformer()),
        ("k_bins", preprocessing.KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")),
        ("imputer", impute.SimpleImputer(missing_values=-1.0)),
        ("pca", decomposition.PCA(2)), ("truncated_svd", decomposition.TruncatedSVD(2, random_state=0)),
        ("kernel_pca", decomposition.KernelPCA(2, kernel="rbf", random_state=0)),
        ("incremental_pca", decomposition.IncrementalPCA(2)), ("random_projection", random_projection.GaussianRandomProjection(2, random_state=0)),
        ("factor_analysis", decomposition.FactorAnalysis(2)), ("fast_ica", decomposition.FastICA(2, random_state=0)),
        ("nmf", decomposition.NMF(2, random_state=0, max_iter=500)), ("nystroem", kernel_approximation.Nystroem(n_components=5, random_state=0)),
        ("quantile_transformer", preprocessing.QuantileTransformer(n_quantiles=20)),
        ("spline", preprocessing.SplineTransformer()), ("kernel_centerer", preprocessing.KernelCenterer()),
        ("one_hot", preprocessing.OneHotEncoder(sparse_output=False, handle_unknown="ignore")), ("ordinal", preprocessing.OrdinalEncoder()),
        ("knn_imputer", impute.KNNImputer(n_neighbors=2)), ("missing_indicator", impute.MissingIndicator()),
        ("function", preprocessing.FunctionTransformer()), ("k_bins_one_hot", preprocessing.KBinsDiscretizer(3, encode="onehot-dense", quantile_method="averaged_inverted_cdf")),
        ("select_percentile", feature_selection.SelectPercentile(percentile=50)),
        ("select_from_model", feature_selection.SelectFromModel(tree.DecisionTreeClassifier(max_depth=3, random_state=0))),
        ("rfe", feature_selection.RFE(linear_model.LogisticRegression(max_iter=1000), n_features_to_select=2)),
        ("union", pipeline.make_union(decomposition.PCA(1), preprocessing.StandardScaler())),
        ("select_k_best", feature_selection.SelectKBest(k=2)),
        ("variance_threshold", feature_selection.VarianceThreshold(0.3)),
    ]
    return rows + [(name, e, three) for name, e in transforms]


def data(kind):
    x, y = datasets.load_iris(return_X_y=True)
    x = x.astype(np.float32)
    if kind == "two":
        return x[y > 0] + 0, y[y > 0]
    if kind == "counts":
        return np.floor(x), y
    if kind in ("real", "positive", "one", "many"):
        target = x[:, 0] * 2 - x[:, 1] ** 2 + 0.3 * x[:, 2] * x[:, 3]
        if kind == "many":
            return x, np.stack([target, -x[:, 0], x[:, 1] * x[:, 2]], axis=1).astype(np.float64)
        x = x[:, :1] if kind == "one" else x
        return x, (np.exp(target / 8) if kind == "positive" else target).astype(np.float64)
    return x, y


def expected(estimator, x, names):
    """What scikit-learn gives for each output that the exported model has."""
    # Clusters keep the float32 that they learned from.
    wide = x if hasattr(estimator, "cluster_centers_") else x.astype(np.float64)
    if not hasattr(estimator, "predict"):
        return [estimator.transform(wide)]
    first = np.asarray(estimator.predict(wide))
    results = [first if first.dtype.kind in "iU" else first.reshape(len(x), -1)]
    if len(names) > 1:
        if names[1] == "probabilities" and hasattr(estimator, "predict_proba"):
            results.append(estimator.predict_proba(wide))
        elif isinstance(estimator, (cluster.KMeans, cluster.MiniBatchKMeans)):
            results.append(estimator.transform(wide))
        elif isinstance(estimator, mixture.GaussianMixture):
            results.append(estimator.predict_proba(wide))
        elif isinstance(estimator, svm.SVC) and len(estimator.classes_) == 2:
            decision = estimator.decision_function(wide)
            results.append(np.stack([decision, -decision], axis=1))
        else:
            results.append(estimator.decision_function(wide))
    return results[:len(names)]


def export(name, estimator, kind):
    x, y = data(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        estimator.fit(x, y)
        classifies = hasattr(estimator, "classes_") and hasattr(estimator, "predict")
        options = {id(estimator): {"zipmap": False}} if classifies and not isinstance(estimator, svm.LinearSVC) else None
        model = to_onnx(estimator, x[:1], target_opset={"": 21, "ai.onnx.ml": 3}, options=options)
    # Off the values learnt from: there no threshold and no tie of distances hangs on a rounding.
    if kind == "counts":
        return model, x[::7], expected(estimator, x[::7], [o.name for o in model.graph.output])
    rows = x[::7] + np.random.default_rng(0).uniform(0.003, 0.02, size=x[::7].shape).astype(np.float32)
    return model, rows, expected(estimator, rows, [o.name for o in model.graph.output])


def shaped(want, model, x):
    """In the dtypes and shapes that the model's outputs have in ONNX Runtime."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    given = session.run(None, {session.get_inputs()[0].name: x})
    return [np.asarray(w).astype(g.dtype).reshape(g.shape) for w, g in zip(want, given)]


def main():
    ort.set_default_logger_severity(4)
    folder, index, failures = pathlib.Path(sys.argv[1]), [], []
    for name, estimator, kind in estimators():
        try:
            model, x, results = export(name, estimator, kind)
            results = shaped(results, model, x)
        except Exception as e:  # noqa: BLE001: what the exporter does not take is named, and counted below
            failures.append(f"{name}: {type(e).__name__}: {str(e).splitlines()[0][:200]}")
            continue
        case = folder / name
        given = case / "test_data_set_0"
        given.mkdir(parents=True, exist_ok=True)
        (case / "model.onnx").write_bytes(model.SerializeToString())
        (case / "tolerance.json").write_text(json.dumps(dict(zip(("rtol", "atol"), TOLERANCES.get(name, (1e-4, 1e-4))))))
        (given / "input_0.pb").write_bytes(numpy_helper.from_array(x).SerializeToString())
        for i, want in enumerate(results):
            (given / f"output_{i}.pb").write_bytes(numpy_helper.from_array(want).SerializeToString())
        index.append({"name": name, "kind": "real"})
    (folder / "cases.json").write_text(json.dumps(index))
    for line in failures:
        print("not exported:", line)
    print(f"{len(index)} models in {folder}")


if __name__ == "__main__":
    main()
