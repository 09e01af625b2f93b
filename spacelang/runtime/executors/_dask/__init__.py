"""The parts of the executor `dask`: the session of a search with a cluster, its plugins, and a local cluster."""
