"""Reductions: a space as one that a tool can say, with the way there and the way back; small, and put together.

A target declares what it `accepts`, and its `Questions` are the chain that leads there: `unfolding` leaves choices that
no condition or constraint speaks of, `simple_pieces` cuts unions and what is too wide into simple ranges and sets, and
`reduction` takes for each the first of `REDUCTIONS` that makes what is accepted: `Identity` where it already is.

    rate : {none} | float(0, 1]      choice `rate:part` of 2; 0: none; 1: `rate` in float[5e-324, 1]   (Closed)
    size : float[0, 0.3] step 0.1    `size` in int[0, 3], where 0.2 is 2                               (Indices)

So a tool of which it is known that it takes closed ranges, consecutive integers and words is written for these alone.

What else takes a space to another form stands alone: `flattening` makes conditions further alternatives of a decision,
`permutations` an order variables of 0 and 1, `restriction` a space of what is left of one. `naming` gives names.
"""
