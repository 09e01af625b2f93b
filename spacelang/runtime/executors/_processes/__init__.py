"""The parts of the executor `processes`.

`zygote_connection` is the coordinator's connection to the zygote; `zygote` and `worker` run in processes of their own.
`channel` transports the `messages` between them. `process_tree` kills process trees, `memory` measures them, and
`kernel` wraps features of the kernel that mostly only Linux has.
"""
