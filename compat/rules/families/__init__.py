"""The rules, one file per family; :mod:`compat.rules.registry` joins them."""
