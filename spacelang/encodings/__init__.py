"""Encodings: values, configurations and batches as numbers, and their decoding.

All numbers are floats, so that an optimizer may move between integers or between the indices of a set. A number between
two members decodes to the nearest one, the upper one in a tie. For example, the values none, 1, 10 and 100 of `{none} |
int[1, 100] log` are encoded as

    exact_encoding          (0, 0)     (1, 1)     (1, 10)      (1, 100)     part index and value, exact
    unit_interval_encoding  (0, -)     (1, 0)     (1, 0.5)     (1, 1)       the same in [0, 1], one column per part
    MixedIntegerEncoding    0          1          10           100          index among all members

The first two are functions that return a `row_encodings.DomainEncoding`; the third is a class of
`mixed_integer_encoding`, which also maps its numbers to [0, 1] (`UnitIntervalMapping`). `row_encodings.RowEncoding`
puts columns of all variables of a space side by side, with a missing value for inactive variables.
`row_encodings.VectorEncoding` decodes vectors in which a model has filled in every number.
"""
