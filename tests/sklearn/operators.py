#!/usr/bin/env python3
"""operators.py DIR [SEED]: cases of ai.onnx.ml operators, random attributes and inputs, for tests/conformance/run.py.

Expected outputs are ONNX Runtime's where it and the standard mean the same, the reference evaluator's for the rest
(`reference=True`). What neither follows is written out in numpy here, with the sentence of the standard.
"""
import json
import math
import pathlib
import sys

import numpy as np
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Suite:
    def __init__(self, folder):
        self.folder, self.rows = folder, []
        ort.set_default_logger_severity(4)

    def add(self, name, op, inputs, outputs=1, ml=3, expected=None, reference=False, runtime=None, rtol=1e-4, atol=1e-5,
            **attributes):
        """`runtime`: attributes as ONNX Runtime would have to be told them."""
        if runtime:
            expected = self.model(name, op, inputs, outputs, ml, {**attributes, **runtime})[1](False)
        model, evaluate = self.model(name, op, inputs, outputs, ml, attributes)
        expected = evaluate(reference) if expected is None else expected
        model.graph.output.extend(
            helper.make_tensor_value_info(f"y{i}", helper.np_dtype_to_tensor_dtype(e.dtype), e.shape)
            for i, e in enumerate(expected))
        del model.graph.output[:outputs]
        self.write(name, model, inputs, expected, rtol, atol)

    def model(self, name, op, inputs, outputs, ml, attributes):
        """The model, its outputs without types, and what evaluates it."""
        names = [f"x{i}" for i in range(len(inputs))]
        results = [f"y{i}" for i in range(outputs)]
        node = helper.make_node(op, names, results, domain="ai.onnx.ml", **attributes)
        infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
                 for n, x in zip(names, inputs)]
        graph = helper.make_graph([node], name, infos, [helper.make_empty_tensor_value_info(r) for r in results])
        model = helper.make_model(graph, ir_version=10, opset_imports=[
            helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", ml)])
        feeds = dict(zip(names, inputs))

        def evaluate(reference):
            return ReferenceEvaluator(model).run(None, feeds) if reference else self.runtime(model, feeds)

        return model, evaluate

    @staticmethod
    def runtime(model, feeds):
        try:
            session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        except ort.capi.onnxruntime_pybind11_state.NotImplemented:
            # Scores of integers are float32 by the schema.
            results = ReferenceEvaluator(model).run(None, feeds)
            return [r.astype(np.float32) if r.dtype.kind == "i" else r for r in results]
        return session.run(None, feeds)

    def write(self, name, model, inputs, expected, rtol, atol):
        case = self.folder / name
        data = case / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (case / "model.onnx").write_bytes(model.SerializeToString())
        (case / "tolerance.json").write_text(json.dumps({"rtol": rtol, "atol": atol}))
        for kind, values in (("input", inputs), ("output", expected)):
            for i, v in enumerate(values):
                (data / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(np.asarray(v)).SerializeToString())
        self.rows.append({"name": name, "kind": "node"})

    def end(self):
        (self.folder / "cases.json").write_text(json.dumps(self.rows))
        print(f"{len(self.rows)} cases in {self.folder}")


# ---- trees

def grow(rng, depth, features, modes, values):
    """A tree as nested tuples: (feature, mode, value, missing, yes, no) or a leaf's number."""
    if depth == 0 or rng.random() < 0.2:
        return None
    return (int(rng.integers(features)), str(rng.choice(modes)), float(rng.choice(values)), int(rng.integers(2)),
            grow(rng, depth - 1, features, modes, values), grow(rng, depth - 1, features, modes, values))


def flatten(trees):
    """nodes_* of versions 1 and 3, and the (tree, node) of each leaf."""
    keys = ["treeids", "nodeids", "featureids", "modes", "values", "missing_value_tracks_true", "truenodeids", "falsenodeids"]
    a, leaves = {f"nodes_{k}": [] for k in keys}, []
    for t, tree in enumerate(trees):
        todo, count = [(tree, 0)], 1
        rows = {}
        while todo:
            node, at = todo.pop()
            if node is None:
                rows[at] = (0, "LEAF", 0.0, 0, 0, 0)
                leaves.append((t, at))
                continue
            rows[at] = (*node[:4], count, count + 1)
            todo += [(node[4], count), (node[5], count + 1)]
            count += 2
        for at in sorted(rows):
            f, mode, value, missing, yes, no = rows[at]
            for k, v in zip(keys, [t, at, f, mode, value, missing, yes, no]):
                a[f"nodes_{k}"].append(v)
    return a, leaves


def forest(rng, count, features, modes, missing, depth=5):
    values = np.round(rng.normal(size=20), 2)
    trees = [grow(rng, depth, features, modes, values) for _ in range(count)]
    a, leaves = flatten(trees)
    if not missing:
        del a["nodes_missing_value_tracks_true"]
    return a, leaves, values


def features_for(rng, n, f, values, missing, dtype=np.float32):
    x = rng.normal(size=(n, f))
    pick = rng.random((n, f))
    x = np.where(pick < 0.3, rng.choice(values, size=(n, f)), x)
    x = np.where(pick > 0.9, np.nan, x) if missing else x
    return x.astype(dtype)


def regressors(s, rng):
    for i, how in enumerate(["SUM", "AVERAGE", "MIN", "MAX"]):
        for modes in (MODES[:1], MODES):
            for targets in (1, 3):
                missing = bool(rng.integers(2))
                a, leaves, values = forest(rng, 4, 5, modes, missing)
                x = features_for(rng, 9, 5, values, missing)
                per_leaf = 1 if targets == 1 else 2
                ids = np.stack([rng.permutation(targets)[:per_leaf] for _ in leaves]).ravel().tolist()
                a.update(target_treeids=[t for t, _ in leaves for _ in range(per_leaf)],
                         target_nodeids=[n for _, n in leaves for _ in range(per_leaf)], target_ids=ids,
                         target_weights=rng.normal(size=len(ids)).astype(np.float32).tolist(), n_targets=targets,
                         aggregate_function=how)
                if rng.integers(2):
                    a["base_values"] = rng.normal(size=targets).tolist()
                if targets > 1:
                    a["post_transform"] = TRANSFORMS[(i + len(modes)) % 4]
                s.add(f"tree_regressor_{how}_{len(modes)}_{targets}", "TreeEnsembleRegressor", [x], ml=1 if i % 2 else 3, **a)
    a, leaves, values = forest(rng, 3, 4, MODES[:1], False)
    for dtype in (np.float64, np.int64, np.int32):
        x = (features_for(rng, 6, 4, values, False) * 3).astype(dtype)
        s.add(f"tree_regressor_{np.dtype(dtype).name}", "TreeEnsembleRegressor", [x], n_targets=1, target_ids=[0] * len(leaves),
              target_treeids=[t for t, _ in leaves], target_nodeids=[n for _, n in leaves],
              target_weights=[float(i) for i in range(len(leaves))], **a)
    one_leaf = dict(nodes_treeids=[0], nodes_nodeids=[0], nodes_featureids=[0], nodes_modes=["LEAF"], nodes_values=[0.0],
                    nodes_truenodeids=[0], nodes_falsenodeids=[0], target_ids=[0], target_treeids=[0], target_nodeids=[0],
                    target_weights=[2.5], n_targets=1)
    s.add("tree_regressor_stump", "TreeEnsembleRegressor", [np.ones((3, 2), np.float32)], **one_leaf)


def classifiers(s, rng):
    for classes in (3, 5):
        for post in TRANSFORMS[:4]:
            a, leaves, values = forest(rng, classes * 2, 4, MODES[:2], False, depth=3)
            x = features_for(rng, 8, 4, values, False)
            ids = [(t % classes) for t, _ in leaves]
            labels = [int(v) for v in rng.permutation(50)[:classes]]
            s.add(f"tree_classifier_{classes}_{post}", "TreeEnsembleClassifier", [x], 2, class_treeids=[t for t, _ in leaves],
                  class_nodeids=[n for _, n in leaves], class_ids=ids, class_weights=rng.normal(size=len(ids)).tolist(),
                  classlabels_int64s=labels, post_transform=post, base_values=rng.normal(size=classes).tolist(), **a)
    for post in ("NONE", "LOGISTIC"):
        for base in ([], [0.25]):
            for low in (-1.0, 0.0):
                if post == "LOGISTIC" and low == 0.0:
                    continue  # the label of ONNX Runtime is not the class of the greatest score then
                a, leaves, values = forest(rng, 3, 4, MODES[:1], False, depth=3)
                x = features_for(rng, 12, 4, values, False)
                weights = rng.uniform(low, 0.6, size=len(leaves)).tolist()
                extra = {"base_values": base} if base else {}
                s.add(f"tree_classifier_binary_{post}_{len(base)}_{'mixed' if low else 'positive'}", "TreeEnsembleClassifier",
                      [x], 2, class_treeids=[t for t, _ in leaves], class_nodeids=[n for _, n in leaves],
                      class_ids=[0] * len(leaves), class_weights=weights, classlabels_int64s=[-3, 8], post_transform=post,
                      **a, **extra)
    a, leaves, values = forest(rng, 3, 4, MODES[:1], False, depth=3)
    x = features_for(rng, 6, 4, values, False)
    s.add("tree_classifier_strings", "TreeEnsembleClassifier", [x], 2, class_treeids=[t for t, _ in leaves],
          class_nodeids=[n for _, n in leaves], class_ids=[i % 3 for i in range(len(leaves))],
          class_weights=rng.uniform(0, 1, size=len(leaves)).tolist(), classlabels_strings=["ant", "bee", "cat"], **a)


def ensemble_5(s, rng):
    """Version 5 from the same nested trees; members too."""
    for number, (dtype, how, post, targets) in enumerate([
            (np.float32, 1, 0, 1), (np.float32, 0, 0, 3), (np.float64, 2, 0, 2), (np.float64, 3, 0, 1),
            (np.float32, 1, 1, 3), (np.float32, 1, 2, 2), (np.float32, 1, 3, 3)]):
        values = np.round(rng.normal(size=10), 2)
        nodes, leaves, roots = [], [], []

        def place(tree):
            if tree is None:
                leaves.append((int(rng.integers(targets)), float(np.round(rng.normal(), 3))))
                return len(leaves) - 1, 1
            at = len(nodes)
            nodes.append(None)
            yes, no = place(tree[4]), place(tree[5])
            nodes[at] = (tree[0], MODES.index(tree[1]), tree[2], tree[3], *yes, *no)
            return at, 0

        for _ in range(3):
            tree = None
            while tree is None:
                tree = grow(rng, 4, 4, MODES, values)
            roots.append(place(tree)[0])
        columns = list(zip(*nodes))
        t = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        a = dict(n_targets=targets, aggregate_function=how, post_transform=post, tree_roots=roots,
                 nodes_featureids=columns[0], nodes_modes=helper.make_tensor("m", TensorProto.UINT8, [len(nodes)], columns[1]),
                 nodes_splits=helper.make_tensor("s", t, [len(nodes)], columns[2]), nodes_missing_value_tracks_true=columns[3],
                 nodes_truenodeids=columns[4], nodes_trueleafs=columns[5], nodes_falsenodeids=columns[6],
                 nodes_falseleafs=columns[7], leaf_targetids=[t for t, _ in leaves],
                 leaf_weights=helper.make_tensor("w", t, [len(leaves)], [w for _, w in leaves]))
        x = features_for(rng, 10, 4, values.astype(dtype), True, dtype)
        # ONNX Runtime takes 1 for LOGISTIC and 2 for SOFTMAX; the standard has it the other way round.
        s.add(f"tree_ensemble_{number}_{np.dtype(dtype).name}_{how}_{post}_{targets}", "TreeEnsemble", [x], ml=5,
              runtime={"post_transform": 3 - post} if post in (1, 2) else None, **a)


# ---- the rest

def linear(s, rng):
    for post in TRANSFORMS:
        for k in (2, 4):
            x = rng.uniform(0.05, 0.2, size=(6, 3)).astype(np.float32)
            c, b = rng.uniform(0, 0.6, size=3 * k).tolist(), rng.uniform(0, 0.1, size=k).tolist()
            s.add(f"linear_regressor_{post}_{k}", "LinearRegressor", [x], coefficients=c, intercepts=b, targets=k,
                  post_transform=post)
            s.add(f"linear_classifier_{post}_{k}", "LinearClassifier", [x], 2, coefficients=c, intercepts=b,
                  classlabels_ints=list(range(5, 5 + k)), post_transform=post)
    x = rng.normal(size=(5, 3)).astype(np.float32)
    s.add("linear_regressor_plain", "LinearRegressor", [x], coefficients=[1.0, -2.0, 0.5])
    # "Indicates the transform to apply to the regression output vector", of one target too.
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32)
    s.add("linear_regressor_logistic_1", "LinearRegressor", [x], coefficients=[1.0, -2.0, 0.5], post_transform="LOGISTIC",
          expected=[1 / (1 + np.exp(-y))])
    for post in ("NONE", "LOGISTIC", "SOFTMAX"):
        s.add(f"linear_classifier_one_row_{post}", "LinearClassifier", [x], 2, coefficients=[1.0, -2.0, 0.5], intercepts=[0.1],
              classlabels_ints=[3, 9], post_transform=post, reference=True)
    for dtype in (np.float64, np.int32, np.int64):
        s.add(f"linear_classifier_{np.dtype(dtype).name}", "LinearClassifier", [(x * 4).astype(dtype)], 2,
              coefficients=rng.normal(size=9).tolist(), intercepts=[0.1, 0.2, 0.3], classlabels_ints=[3, 9, 1])


def machines(s, rng):
    for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
        x = rng.normal(size=(7, 3)).astype(np.float32)
        common = dict(kernel_type=kernel, kernel_params=[0.3, 0.2, 2.0])
        for one_class in (0, 1):
            s.add(f"svm_regressor_{kernel}_{one_class}", "SVMRegressor", [x], coefficients=rng.normal(size=5).tolist(),
                  rho=[0.1], n_supports=5, support_vectors=rng.normal(size=15).tolist(), one_class=one_class, **common)
        for classes in (2, 3, 4):
            for proba in (False, True):
                per_class = [2, 3, 1, 2][:classes]
                pairs = classes * (classes - 1) // 2
                a = dict(vectors_per_class=per_class, support_vectors=rng.normal(size=3 * sum(per_class)).tolist(),
                         coefficients=rng.normal(size=(classes - 1) * sum(per_class)).tolist(),
                         rho=rng.normal(size=pairs).tolist(), classlabels_ints=[4, 1, 8, 6][:classes], **common)
                if proba:
                    a.update(prob_a=rng.uniform(-2, -0.5, size=pairs).tolist(), prob_b=rng.normal(size=pairs).tolist())
                s.add(f"svm_classifier_{kernel}_{classes}{'_proba' if proba else ''}", "SVMClassifier", [x], 2, rtol=1e-3, **a)
    s.add("svm_regressor_no_vectors", "SVMRegressor", [x], coefficients=[1.0, 2.0, 3.0], rho=[0.5], n_supports=0, **common)
    s.add("svm_classifier_no_vectors", "SVMClassifier", [x], 2, coefficients=rng.normal(size=9).tolist(), rho=[0.5],
          classlabels_ints=[0, 1, 2], **common)


def preparation(s, rng):
    x = rng.normal(size=(4, 3)).astype(np.float32)
    ints = rng.integers(-3, 4, size=(4, 3))
    for dtype in (np.float32, np.float64, np.int32, np.int64):
        v = (x if np.dtype(dtype).kind == "f" else ints).astype(dtype)
        name = np.dtype(dtype).name
        s.add(f"scaler_{name}", "Scaler", [v], offset=[0.5, -1.0, 2.0], scale=[2.0, 0.5, 1.0])
        s.add(f"scaler_one_{name}", "Scaler", [v], offset=[0.5], scale=[3.0])
        for norm in ("MAX", "L1", "L2"):
            s.add(f"normalizer_{norm}_{name}", "Normalizer", [np.concatenate([np.abs(v), np.zeros_like(v[:1])])], norm=norm)
        s.add(f"binarizer_{name}", "Binarizer", [v], threshold=0.5, reference=True)
    holes = np.where(rng.random((4, 3)) < 0.4, np.nan, x).astype(np.float32)
    s.add("imputer_nan", "Imputer", [holes], imputed_value_floats=[1.0, 2.0, 3.0], replaced_value_float=math.nan)
    s.add("imputer_one", "Imputer", [holes], imputed_value_floats=[7.0], replaced_value_float=math.nan)
    s.add("imputer_int64", "Imputer", [ints.astype(np.int64)], imputed_value_int64s=[10, 20, 30], replaced_value_int64=1)
    s.add("imputer_float64", "Imputer", [holes.astype(np.float64)], imputed_value_floats=[1.0, 2.0, 3.0],
          replaced_value_float=math.nan)
    s.add("feature_vectorizer", "FeatureVectorizer", [x, x[:, :1], x[:, 1:]], inputdimensions=[3, 1, 2])
    for n, y in enumerate([np.array([2, 0]), np.array([[1, 1, 0]]), np.array(1)]):
        s.add(f"array_feature_extractor_{n}", "ArrayFeatureExtractor", [x, y.astype(np.int64).reshape(-1)])
    s.add("array_feature_extractor_3d", "ArrayFeatureExtractor", [rng.normal(size=(2, 3, 4)).astype(np.float32), np.array([3, 1])])
    for dtype in (np.float32, np.int64, np.int32):
        s.add(f"one_hot_{np.dtype(dtype).name}", "OneHotEncoder", [ints.astype(dtype)], cats_int64s=[-1, 0, 1, 2])
    s.add("one_hot_strings", "OneHotEncoder", [np.array([["a", "b"], ["z", "c"]], dtype=object)],
          cats_strings=["a", "b", "c"], expected=[np.array([[[1, 0, 0], [0, 1, 0]], [[0, 0, 0], [0, 0, 1]]], np.float32)])


def encoders(s, rng):
    keys, floats = [3, -1, 7], [0.5, math.nan, 2.0]
    x = np.array([[3, 7], [0, -1]], np.int64)
    r = np.array([0.5, 2.0, 9.0, math.nan], np.float32)
    s.add("label_int_int", "LabelEncoder", [x], keys_int64s=keys, values_int64s=[10, 20, 30], default_int64=-7)
    s.add("label_int_float", "LabelEncoder", [x], keys_int64s=keys, values_floats=[1.5, 2.5, 3.5])
    s.add("label_float_int", "LabelEncoder", [r], ml=4, keys_floats=floats, values_int64s=[1, 2, 3],
          expected=[np.array([1, 3, -1, 2])])  # "keys with value 'NaN' match any input 'NaN'"
    s.add("label_float_float", "LabelEncoder", [r], ml=4, keys_floats=floats, values_floats=[1.0, 2.0, 3.0], default_float=-4.0,
          expected=[np.array([1, 3, -4, 2], np.float32)])
    s.add("label_int_string", "LabelEncoder", [x], keys_int64s=keys, values_strings=["p", "q", "r"],
          expected=[np.array([["p", "r"], ["_Unused", "q"]], dtype=object)])
    s.add("label_float64_tensor", "LabelEncoder", [r.astype(np.float64)], ml=4,
          keys_tensor=numpy_helper.from_array(np.array(floats)), values_tensor=numpy_helper.from_array(np.array([1.0, 2.0, 3.0])),
          default_tensor=numpy_helper.from_array(np.array([-1.0])))
    s.add("label_int32_tensor", "LabelEncoder", [x.astype(np.int16)], ml=4, expected=[np.array([[1, 3], [9, 2]], np.int32)],
          keys_tensor=numpy_helper.from_array(np.array(keys, np.int16)),
          values_tensor=numpy_helper.from_array(np.array([1, 2, 3], np.int32)),
          default_tensor=numpy_helper.from_array(np.array([9], np.int32)))
    # "If a key is repeated, the last key takes precedence."
    s.add("label_repeated", "LabelEncoder", [x], ml=4, keys_int64s=[3, 3], values_int64s=[1, 2],
          expected=[np.array([[2, -1], [-1, -1]])])


def main():
    folder = pathlib.Path(sys.argv[1])
    rng = np.random.default_rng(int(sys.argv[2]) if len(sys.argv) > 2 else 4)
    s = Suite(folder)
    for part in (regressors, classifiers, ensemble_5, linear, machines, preparation, encoders):
        part(s, rng)
    s.end()


if __name__ == "__main__":
    main()
