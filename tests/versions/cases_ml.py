"""ai.onnx.ml: trees, vectors, encoders."""
import numpy as np

from cases import F32, F64, I64, case, floats, ints, operators, values
from cases_network import runtime_of

ML = "ai.onnx.ml"


def words(*names):
    return np.array(names, object)


@operators("ArrayFeatureExtractor", domain=ML)
def array_feature(v):
    for t in v.types():
        yield case(values(t, 2, 4), np.array([[0, 3]]), tag=t.name)


@operators("Binarizer", domain=ML)
def binarizer(v):
    for t in v.types():
        yield case(values(t, 2, 3), threshold=0.5, tag=t.name)


@operators("CastMap", domain=ML)
def cast_map(v):
    # Neither evaluator takes a map as the input of a graph.
    given = {1: np.float32(2.0), 3: np.float32(4.5)}
    yield case(given, cast_to="TO_FLOAT", map_form="DENSE", expect=[np.array([[2, 4.5]], np.float32)])
    yield case(given, cast_to="TO_INT64", map_form="SPARSE", max_map=5, expect=[np.array([[0, 2, 0, 4, 0]])])


@operators("CategoryMapper", domain=ML)
def category(v):
    attrs = {"cats_int64s": [1, 2, 3], "cats_strings": ["a", "b", "c"]}
    yield case(ints(1, 3, 9), default_string="none", **attrs)
    yield case(words("a", "c", "z"), default_int64=-1, **attrs)


@operators("DictVectorizer", domain=ML)
def dict_vectorizer(v):
    yield case({"a": np.float64(1), "c": np.float64(2)}, string_vocabulary=["a", "b", "c"])


@operators("FeatureVectorizer", domain=ML)
def feature(v):
    yield case(floats(2, 2), floats(2, 3), inputdimensions=[2, 3])


@operators("Imputer", domain=ML)
def imputer(v):
    x = np.array([[1, np.nan, 3], [0, 5, np.nan]], np.float32)
    yield case(x, imputed_value_floats=[7.0, 8.0, 9.0], replaced_value_float=float("nan"))
    yield case(x, imputed_value_floats=[7.0], replaced_value_float=0.0)
    yield case(ints(1, 2, 3)[None], imputed_value_int64s=[7], replaced_value_int64=2)


@operators("LabelEncoder", domain=ML)
def label_encoder(v):
    if v.has("classes_strings"):
        yield case(words("a", "c", "z"), classes_strings=["a", "b", "c"], default_int64=-7)
        yield case(ints(0, 2, 9), classes_strings=["a", "b", "c"], default_string="none")
        return
    yield case(words("a", "z"), keys_strings=["a", "b"], values_int64s=[1, 2], default_int64=-7)
    yield case(ints(1, 9), keys_int64s=[1, 2], values_strings=["a", "b"], default_string="none")
    yield case(np.array([1, 9, np.nan], np.float32), keys_floats=[1.0, 2.0], values_floats=[0.5, 0.6], default_float=-1.0)
    yield case(ints(1, 9), keys_int64s=[1, 2], values_floats=[0.5, 0.6], default_float=-1.0)
    yield case(np.array([1, 9], np.float32), keys_floats=[1.0, 2.0], values_int64s=[5, 6], default_int64=-1)
    if v.has("keys_tensor"):
        yield case(values(F64, 3), keys_tensor=np.array([1.0]), values_tensor=np.array([2], np.int16),
                   default_tensor=np.array([7], np.int16), tag="tensors")
        yield case(ints(1, 9), keys_tensor=ints(1, 2), values_tensor=ints(5, 6), default_tensor=ints(0))


@operators("LinearClassifier", domain=ML)
def linear_classifier(v):
    for post in ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"):
        yield case(floats(4, 2), coefficients=[0.5, -0.3, 0.2, 0.7, -0.1, 0.4], intercepts=[0.1, 0.2, 0.3],
                   classlabels_ints=[3, 4, 5], multi_class=0, post_transform=post, outputs=2)
    yield case(floats(4, 2), coefficients=[0.5, -0.3], intercepts=[0.1], classlabels_ints=[0, 1], outputs=2, tag="binary")
    yield case(floats(4, 2), coefficients=[0.5, -0.3, 0.2, 0.7], intercepts=[0.1, 0.2], classlabels_strings=["a", "b"],
               outputs=2)


@operators("LinearRegressor", domain=ML)
def linear_regressor(v):
    yield case(floats(4, 2), coefficients=[0.5, -0.3], intercepts=[0.1])
    yield case(floats(4, 2), coefficients=[0.5, -0.3, 0.2, 0.7], intercepts=[0.1, 0.2], targets=2)
    yield case(floats(4, 2), coefficients=[0.5, -0.3, 0.2, 0.7], targets=2)


@operators("Normalizer", domain=ML)
def normalizer(v):
    for norm in ("MAX", "L1", "L2"):
        yield case(floats(2, 3, low=0.5), norm=norm)
        yield case(floats(2, 3), norm=norm, tag="signs")
    yield case(values(I64, 2, 3, low=1, high=9), norm="L1")


@operators("OneHotEncoder", domain=ML)
def one_hot_encoder(v):
    yield case(ints(1, 3, 9), cats_int64s=[1, 2, 3])
    yield case(np.array([1, 2], np.float32), cats_int64s=[1, 2, 3], zeros=0)
    yield case(words("a", "z"), cats_strings=["a", "b"])


@operators("Scaler", domain=ML)
def scaler(v):
    for t in v.types():
        yield case(values(t, 2, 3), offset=[0.5, 1.0, 1.5], scale=[2.0, 3.0, 0.5], tag=t.name)
    yield case(floats(2, 3), offset=[0.5], scale=[2.0])


@operators("SVMClassifier", domain=ML)
def svm_classifier(v):
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        yield case(floats(5, 2), coefficients=[0.7, -0.3, -0.4, 0.5], kernel_params=[0.5, 0.1, 2.0], kernel_type=kernel,
                   rho=[0.1], support_vectors=[1.0, 2.0, -1.0, 0.5, 0.3, 0.4, -2.0, 1.0], vectors_per_class=[2, 2],
                   classlabels_ints=[0, 1], outputs=2, tag=kernel.lower())
    yield case(floats(5, 2), coefficients=[0.7, -0.3, 0.4, 0.5, -0.6, 0.2], kernel_params=[0.5, 0.1, 2.0],
               kernel_type="RBF", rho=[0.1, 0.2, 0.3], support_vectors=[1.0, 2.0, -1.0, 0.5, 0.3, 0.4],
               vectors_per_class=[1, 1, 1], classlabels_ints=[0, 1, 2], outputs=2)


@operators("SVMRegressor", domain=ML)
def svm_regressor(v):
    for kernel in ("LINEAR", "RBF", "POLY", "SIGMOID"):
        yield case(floats(4, 2), coefficients=[0.7, -0.3], kernel_params=[0.5, 0.1, 2.0], kernel_type=kernel,
                   n_supports=2, rho=[0.1], support_vectors=[1.0, 2.0, -1.0, 0.5], tag=kernel.lower())
    yield case(floats(4, 2), coefficients=[0.7, -0.3], kernel_params=[0.5, 0.1, 2.0], kernel_type="RBF", one_class=1,
               n_supports=2, rho=[0.1], support_vectors=[1.0, 2.0, -1.0, 0.5])


def tree_nodes(mode="BRANCH_LEQ"):
    """Two trees of three and five nodes over three features."""
    return dict(nodes_treeids=[0, 0, 0, 1, 1, 1, 1, 1], nodes_nodeids=[0, 1, 2, 0, 1, 2, 3, 4],
                nodes_featureids=[0, 0, 0, 1, 2, 0, 0, 0], nodes_values=[0.1, 0.0, 0.0, -0.3, 0.4, 0.0, 0.0, 0.0],
                nodes_modes=[mode, "LEAF", "LEAF", mode, mode, "LEAF", "LEAF", "LEAF"],
                nodes_truenodeids=[1, 0, 0, 1, 3, 0, 0, 0], nodes_falsenodeids=[2, 0, 0, 2, 4, 0, 0, 0])


LEAVES = ([0, 0, 1, 1, 1], [1, 2, 2, 3, 4])


@operators("TreeEnsembleRegressor", domain=ML)
def tree_regressor(v):
    leaves = dict(target_treeids=LEAVES[0], target_nodeids=LEAVES[1], target_ids=[0, 1, 0, 1, 1],
                  target_weights=[0.5, 1.0, 2.0, -1.0, 3.0], n_targets=2)
    for t in v.types():
        x = values(t, 5, 3)
        # Neither evaluator has integers right: the same numbers as float32.
        twin = case(x.astype(F32), **tree_nodes(), **leaves)
        twin.version = v
        yield case(x, **tree_nodes(), **leaves, tag=t.name, expect=runtime_of(twin) if t.kind == "i" else None)
    for how in ("SUM", "AVERAGE", "MIN", "MAX"):
        yield case(floats(5, 3), **tree_nodes(), **leaves, aggregate_function=how, tag=how.lower())
    for mode in ("BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"):
        yield case(floats(5, 3), **tree_nodes(mode), **leaves, tag=mode.lower())
    yield case(floats(5, 3), **tree_nodes(), **leaves, base_values=[0.25, 0.5])
    yield case(np.array([[np.nan] * 3, [0, 0, 0]], np.float32), **tree_nodes(), **leaves,
               nodes_missing_value_tracks_true=[1, 0, 0, 0, 1, 0, 0, 0], tag="missing")
    if v.has("target_weights_as_tensor"):
        nodes = tree_nodes()
        nodes["nodes_values_as_tensor"] = np.array(nodes.pop("nodes_values"), np.float64)
        leaves["target_weights_as_tensor"] = np.array(leaves.pop("target_weights"), np.float64)
        yield case(values(F64, 5, 3), **nodes, **leaves, tag="tensors")


@operators("TreeEnsembleClassifier", domain=ML)
def tree_classifier(v):
    leaves = dict(class_treeids=LEAVES[0], class_nodeids=LEAVES[1], class_ids=[0, 1, 2, 1, 0],
                  class_weights=[0.5, 1.0, 2.0, 1.0, 3.0])
    for t in v.types():
        yield case(values(t, 5, 3), **tree_nodes(), **leaves, classlabels_int64s=[5, 6, 7], outputs=2, tag=t.name)
    for post in ("SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"):
        yield case(floats(5, 3), **tree_nodes(), **leaves, classlabels_int64s=[5, 6, 7], post_transform=post, outputs=2,
                   tag=post.lower())
    yield case(floats(5, 3), **tree_nodes(), **(leaves | {"class_ids": [0] * 5}), classlabels_int64s=[0, 1], outputs=2,
               tag="binary")
    yield case(floats(5, 3), **tree_nodes(), **leaves, classlabels_strings=["a", "b", "c"], outputs=2)
    if v.has("class_weights_as_tensor"):
        nodes = tree_nodes()
        nodes["nodes_values_as_tensor"] = np.array(nodes.pop("nodes_values"), np.float64)
        leaves["class_weights_as_tensor"] = np.array(leaves.pop("class_weights"), np.float64)
        yield case(values(F64, 5, 3), **nodes, **leaves, classlabels_int64s=[5, 6, 7], outputs=2, tag="tensors")


@operators("TreeEnsemble", domain=ML)
def tree_ensemble(v):
    for t in (F32, F64):
        attrs = dict(aggregate_function=1, leaf_targetids=[0, 1, 0, 1], leaf_weights=np.array([5, 12, -12, 10], t),
                     membership_values=np.array([1.2, 3.7, 8, 9, np.nan, 12, 7, np.nan], t), n_targets=2,
                     nodes_falseleafs=[0, 0, 1, 1], nodes_falsenodeids=[1, 0, 2, 3], nodes_featureids=[0, 0, 0, 0],
                     nodes_missing_value_tracks_true=[0, 0, 0, 0], nodes_modes=np.array([4, 6, 6, 0], np.uint8),
                     nodes_splits=np.array([3.14, 7, 7, 4.2], t), nodes_trueleafs=[0, 1, 1, 1],
                     nodes_truenodeids=[1, 0, 1, 2], tree_roots=[0])
        attrs |= dict(nodes_featureids=[0, 0, 0], nodes_modes=np.array([0, 0, 0], np.uint8),
                      nodes_splits=np.array([3.14, 1.2, 4.2], t), nodes_truenodeids=[1, 0, 1],
                      nodes_trueleafs=[0, 1, 1], nodes_falsenodeids=[2, 2, 3], nodes_falseleafs=[0, 1, 1],
                      nodes_missing_value_tracks_true=[0, 0, 0])
        attrs.pop("membership_values")
        yield case(np.array([[1.2], [3.4], [4], [5]], t), **attrs, tag=t.name)


@operators("ZipMap", domain=ML)
def zip_map(v):
    yield case(floats(2, 3), classlabels_int64s=[1, 2, 3])
    yield case(floats(2, 3), classlabels_strings=["a", "b", "c"])
