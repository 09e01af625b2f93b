"""Codings: a domain, a configuration, many of them as columns of numbers, and the way back.

Every number is a float, so that whoever searches may move between integers and between the places of a set: what lies
between two members is the nearest one, the upper one of two. The values none, 1, 10 and 100 of `{none} | int[1, 100]
log` are

    domains.Selected    (0, 0)     (1, 1)     (1, 10)      (1, 100)     selector and value, to the last bit
    domains.Units       (0, 0)     (1, 0)     (1, 0.5)     (1, 1)       the same in [0, 1]
    domains.Parted      (0, -)     (1, 0)     (1, 0.5)     (1, 1)       the same, a place for each part of a union
    domains.OneHot      (1, 0, 0)  (0, 1, 0)  (0, 1, 0.5)  (0, 1, 1)    what is taken, and where in its range
    indexed.Indexed     0          1          10           100          the place among all members

`rows.RowCoding` puts such columns of all variables of a space side by side, with a missing value for what is inactive;
`structures.StructureCoding` those of the hyperparameters of one structure, with none: a search may move all of them.
`vectors.VectorCoding` is for models of decisions as well. `intervals.Interval` is the unit interval of the numbers of
`indexed`. `members` has what they all need of a single set or range: its members, ends and scales as arrays. `limits`
says which integers no float tells apart.
"""
