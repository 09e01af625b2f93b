"""Columns by type: the preprocessing of numeric and categorical columns is part of the space."""

from sklearn.datasets import load_diabetes

import spacelang as sl

space = sl.parse("""
space typed_columns

stage filler = SimpleImputer { strategy : {mean, median} = median } | KNNImputer { n_neighbors : int[1, 15] = 5 }
stage encoder =
  | OneHotEncoder  { handle_unknown = ignore }
  | OrdinalEncoder { handle_unknown = use_encoded_value, unknown_value = -1 }
stage model =
  | Ridge { alpha : float[1e-3, 1e3] log = 1 }
  | KNeighborsRegressor { n_neighbors : int[1, 40] = 10 }

pipeline = columns(numeric: filler -> StandardScaler, categorical: encoder) -> model

forbid encoder is OrdinalEncoder and model is Ridge  # a linear model would use the arbitrary order
""")

table, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
table["sex"] = table["sex"].map({1.0: "first", 2.0: "second"})  # now a categorical column
table.loc[::7, "bmi"] = float("nan")  # some values are missing

result = sl.search(space, table, progression, trials=20, seed=0)
print(result)
print(result.best_pipeline.predict(table.head()).round())
