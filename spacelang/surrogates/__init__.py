"""Surrogates: models of a function that is expensive to evaluate, and proposals of the next point to evaluate.

They work on encoded points (rows of floats in [0, 1]) and on numbers to be minimised. Every result is a function of
these data, in their order, and of a random generator. It does not depend on earlier fits, nor on whether the search was
interrupted. Callers compute proposals under `limits.one_thread()`, which makes them reproducible to the last bit.

    gaussian_process     Matern 5/2 kernel with a length per dimension, its fit, and updates row by row for growing data
    improvement          expected improvement, and the point that maximises it
    cubic_rbf            the interpolating cubic spline
    forest               scikit-learn's random forest with the standard deviation over its trees
    kernel_density       multivariate densities of good and of bad points, as in BOHB
    tpe                  univariate densities of good and of bad points: tree-structured Parzen estimators
"""
