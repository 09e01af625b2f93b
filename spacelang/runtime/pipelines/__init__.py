"""Pipelines: from configurations to scikit-learn estimators, with the preparation that the data needs."""

from spacelang.deprecation import rename_module

# Pickled pipelines name the modules of their steps.
rename_module(f"{__name__}.taking", f"{__name__}.input_conversion")
