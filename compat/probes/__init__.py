"""Scripts that prove on the device that it computes, in the container or right here.

They run under whatever Python the image has (3.6 or newer), use the standard library alone and import nothing of the
rest of this package. ``run.py`` is the one to start; it prints one JSON object a line:

- ``{"event": "start", "probe": ...}`` before a probe, so that a hang or a crash still names it,
- ``{"event": "probe", "name", "status": "pass" | "fail" | "skip", "why", "code", "figures", "seconds"}``,
- ``{"event": "end"}`` when everything was tried.

``code`` is the finding that a failure points to, empty for a pass or a skip.
"""
