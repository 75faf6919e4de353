"""What a cluster's engines say of its nodes -> one record a node.

A source is a text; each reader knows a document by its shape and gives a :class:`Node` with a host document
(:func:`compat.facts.load`) and, where the doctor ran on the node itself, its findings. A record that cannot be read
is a :class:`~compat.survey.Broken` with its place, and the rest is read.

============= ==================================================================================
``documents`` texts and JSON lines into documents; pasted reports, by :mod:`compat.reading`
``own``       ``envcheck doctor`` and ``envcheck host``
``kubernetes`` ``kubectl get nodes -o json``
``slurm``     ``scontrol show node --json``
``metrics``   Prometheus: results of queries, and the text format (DCGM exporter, our own gauges)
``ansible``   facts of ``setup``, and results of a play as JSON
============= ==================================================================================
"""

from __future__ import annotations

from compat.fleet.documents import read
from compat.fleet.records import Node, Record, Seen

__all__ = ["Node", "Record", "Seen", "read"]
