"""The parts of the executor `processes`.

`link` is the coordinator's connection to the zygote; `nursery` and `worker` run in processes of their own. `channel`
transports the `messages` between them. `family` kills process trees, `memory` measures them, and `system` wraps
features of the kernel that mostly only Linux has.
"""
