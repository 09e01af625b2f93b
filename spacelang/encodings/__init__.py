"""Encodings: values, configurations and batches as numbers, and their decoding.

All numbers are floats, so that an optimizer may move between integers or between the indices of a set. A number between
two members decodes to the nearest one, the upper one in a tie. For example, the values none, 1, 10 and 100 of `{none} |
int[1, 100] log` are encoded as

    domains.selected    (0, 0)     (1, 1)     (1, 10)      (1, 100)     part index and value, exact
    domains.parted      (0, -)     (1, 0)     (1, 0.5)     (1, 1)       the same in [0, 1], one column per part
    indexed.Indexed     0          1          10           100          index among all members

`domains.DomainEncoding` is the class of the first two. `rows.RowEncoding` puts such columns of all variables of a space
side by side, with a missing value for inactive variables. `vectors.VectorEncoding` decodes vectors in which a model has
filled in every number. `intervals.UnitInterval` maps the numbers of `indexed` to [0, 1]. `members` has array functions
for a single set or range: nearest members, indices and scaling. `limits` finds domains whose members floats cannot
distinguish.
"""
