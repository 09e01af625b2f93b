"""The parts of the optimizer ADMM.

Most of them are values and functions that evaluate nothing. Requests for trials come from the coroutines in
`iterations`.
"""
