"""The parts of the executor `processes`.

`link` is the coordinator's end of the nursery, `nursery` and `worker` run in processes of their own; `channel` and
`messages` are what they talk through and about. `family` and `memory` are about processes and those below them,
`system` about what only Linux has.
"""
