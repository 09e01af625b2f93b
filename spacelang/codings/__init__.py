"""Codings: a domain, a configuration, many of them as columns of numbers, and the way back.

Every number is a float, so that whoever searches may move between integers and between the places of a set: what lies
between two members is the nearest one, the upper one of two. The values none, 1, 10 and 100 of `{none} | int[1, 100]
log` are

    domains.selected    (0, 0)     (1, 1)     (1, 10)      (1, 100)     selector and value, to the last bit
    domains.parted      (0, -)     (1, 0)     (1, 0.5)     (1, 1)       the same in [0, 1], each part in its column
    indexed.Indexed     0          1          10           100          the place among all members

`domains.Coding` is what the first two have in common. `rows.RowCoding` puts such columns of all variables of a space
side by side, with a missing value for what is inactive; `vectors.VectorCoding` makes configurations of whatever a
model has filled in. `intervals.UnitInterval` has the numbers of `indexed` on [0, 1]. `members` has what all of
them need of a single set or range: its members, ends and scales as arrays. `limits` says what no float tells apart.
"""
