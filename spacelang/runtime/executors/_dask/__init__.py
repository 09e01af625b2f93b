"""The parts of the executor `dask`.

`session` is the search's connection to a cluster. It runs on the event loop of its own thread (`event_loop`), and keeps
the slots of the running trials (`slots`). `worker_plugin` has the plugins that the session installs on the workers and
the scheduler, and `versions` what these must have in common. `log_filter` silences dask's log messages. `local_cluster`
is a cluster on this machine, and `worker_process` is the process of one of its workers.
"""
