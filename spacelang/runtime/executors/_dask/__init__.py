"""The parts of the executor `dask`.

`session` is the search's end of a cluster, all of it on the event loop of a thread of its own (`loop`); `seats` are the
trials that it has in flight. `laboratory` is what the session leaves with the workers and the scheduler of the cluster,
`versions` what they must have in common, `log` keeps dask quiet. `local` is a cluster on this machine, `member` the
process of one of its workers.
"""
