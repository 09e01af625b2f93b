"""Reductions: rewriting a space into a form that a library supports, with encoding and decoding.

A target declares with `accepts` which simple domains its library supports, and `Questions` applies the chain of
reductions. `case_splits` produces choices that no condition or constraint mentions. `split_into_simple` splits unions
and very wide ranges into simple ranges and sets. `reduce_domain` then takes the first of `possible_reductions_of` a
domain whose result is accepted; this is `IdentityReduction` if the domain is accepted as it is. For example:

    rate : {none} | float(0, 1]      choice `rate:part` of 2; 0: none; 1: `rate` in float[5e-324, 1]
    size : float[0, 0.3] step 0.1    `size` in int[0, 3], where 0.2 is 2

The first of these two is a `ClosedRangeReduction`, the second a `MemberIndexReduction`. Without log scales a
`LogarithmReduction` follows, and without continuous ranges a `GridReduction`; these lose members.

A target for a library that supports only closed ranges, consecutive integers and words therefore handles only these.

Relations of ranges, such as `lo <= hi`, need no cases: `relation_groups` finds them, `varying_bounds` lets bounds
depend on earlier values, and `quantile_reduction` replaces the ranges by quantiles of `conditional_distributions`.

Other rewritings stand alone. `branch_flattening` turns conditions into further alternatives of a decision.
`space_restriction` makes a space of the configurations that remain in a part of a space.
"""
