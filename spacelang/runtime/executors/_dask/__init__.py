"""The parts of the executor `dask`.

`session` is the search's connection to a cluster. It runs on the event loop of its own thread (`loop`), and keeps the
slots of the running trials (`seats`). `laboratory` has the plugins that the session installs on the workers and the
scheduler, and `versions` what these must have in common. `log` silences dask's log messages. `local` is a cluster on
this machine, and `member` is the process of one of its workers.
"""
