"""`Space.parameters`: what every operator of a configuration gets, as `build` passes it to classes."""

import pytest

import spacelang as sl

BLEND = """
abstract Blend {
  n = 3
  kind = fast
  var bits : int[2, 4]
  size := 2 ** bits
  share := 4 / bits
  layers : tuple[1, 3] of int[1, 8] | none
  depth : int[1, 9] = 2 when bits > 2
  simplex speed, accuracy, memory
}
stage model = Blend | Blend as small { n = 1 }
"""
PIPELINES = """
var d : int[2, 4] = 2
stage scaler = none | RobustScaler { q_min := d / 20, q_max : float[0.7, 0.9] = 0.8, unit_variance = true }
stage estimator =
  | DecisionTreeClassifier {
      max_leaf_nodes := 12 / d
      max_features := 2 / d
      criterion = entropy
      min_samples_leaf : int[1, 3] = 2 when d > 2
    }
  | MLPClassifier { hidden_layer_sizes : tuple[1, 2] of int[1, 9], alpha : {1, 2} | float[0, 0.5] }
  | AdaBoostClassifier { estimator = DecisionTreeClassifier { max_depth := d - 1, splitter = random } }
  | BaggingClassifier { estimator : DecisionTreeClassifier { max_depth : int[1, 9] } | none }
"""


def test_an_objective_gets_the_parameters_of_abstract_operators() -> None:
    space = sl.parse(BLEND)
    seen = []

    def loss(configuration: dict[str, object]) -> float:
        seen.append((configuration, space.parameters(configuration)))
        return 0.0

    sl.search(space, objective=loss, trials=12, workers=0, optimizer="random", progress=False)
    assert len(seen) == 12
    for configuration, found in seen:
        (values,) = found.values()
        assert [*found] == ["model"]
        bits = configuration["model.bits"]
        assert values["n"] == (3 if configuration["model"] == "Blend" else 1)
        assert (values["kind"], values["size"], values["share"]) == ("fast", 2**bits, 4 / bits)  # type: ignore[operator]
        assert type(values["share"]) is float
        assert values.get("depth") == configuration.get("model.depth")
        length = configuration.get("model.layers.length")
        elements = tuple(configuration[f"model.layers[{place}]"] for place in range(1, (length or 0) + 1))  # type: ignore[operator]
        assert values["layers"] == (None if length is None else elements)
        assert values["speed"] + values["accuracy"] + values["memory"] == pytest.approx(1)
        assert not {"bits", "layers.length", "layers[1]"} & set(values)


def test_parameters_are_those_of_the_built_pipeline() -> None:
    space = sl.parse(PIPELINES)
    for configuration in space.sample(80, seed=0):
        found, steps = space.parameters(configuration), space.build(configuration).named_steps
        scaler = found.pop("scaler", None)
        assert (scaler is None) == ("scaler" not in steps)
        if scaler is not None:
            quantiles = steps["scaler"].quantile_range
            assert quantiles == pytest.approx((100 * scaler["q_min"], 100 * scaler["q_max"]))
            assert steps["scaler"].unit_variance is scaler["unit_variance"] is True
        inner = found.pop("estimator.estimator", {})
        built = steps["estimator"].get_params()
        nested = found["estimator"].pop("estimator", None)
        assert nested == (type(built["estimator"]).__name__ if inner else None)
        expected = found.pop("estimator") | {f"estimator__{name}": value for name, value in inner.items()}
        assert {name: (built[name], type(built[name])) for name in expected} == {
            name: (value, type(value)) for name, value in expected.items()
        }
        assert not found


def test_operators_without_hyperparameters_have_distinct_keys() -> None:
    branches = "PCA { n_components = 2 } & PCA { n_components : int[1, 3] } & PCA"
    space = sl.parse(f"stage m = (PCA {{ whiten = true }} -> SVC) as two | GaussianNB\npipeline = ({branches}) -> m")
    assert space.parameters({"m": "two", "PCA_2.n_components": 3}) == {
        "PCA": {"n_components": 2}, "PCA_2": {"n_components": 3}, "PCA_3": {}, "m.PCA": {"whiten": True}, "m.SVC": {},
    }  # fmt: skip
    with pytest.raises(ValueError, match="n_components"):
        space.parameters({"m": "two", "PCA_2.n_components": 4})


def test_reports_of_forms_for_abstract_operators_mention_no_pipeline() -> None:
    report = sl.parse(BLEND).compile("random").report
    assert {"computed values", "tuples"} <= {str(each.construct) for each in report}
    assert all("pipeline" not in str(each.to_json()) for each in report)
