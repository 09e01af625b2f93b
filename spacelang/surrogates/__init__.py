"""Surrogates: models of a function that is dear to evaluate, and where they say to evaluate it next.

They know encoded points only, rows of floats in [0, 1], and numbers to be minimised. All of them are functions of these
data, in their order, and of a generator: what an earlier fit found, or a search that was interrupted, changes nothing.
Whoever computes a proposal does it under `threads.one_thread()`, where it is the same to the last bit.

    gaussian_process    Matern 5/2 with a length for each dimension, its rows added one by one; `likelihood` fits it
    growth              such a process for data that grow: when it is fitted again, and to which points
    improvement         expected improvement, and the point that promises most of it
    cubic_rbf           the interpolating cubic spline
    forest              scikit-learn's random forest with the deviation of its trees
    kernel_density      the good and the bad of all dimensions together as densities, as BOHB has them
    tpe                 the good and the bad of each dimension as densities: tree-structured Parzen estimators
"""
