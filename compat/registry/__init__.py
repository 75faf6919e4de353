"""The only place, beside building, that uses the network; and only where a command was asked to.

:mod:`compat.registry.ranges` reads parts of remote files; :mod:`compat.registry.locking` has an installer lock a plan.
"""
