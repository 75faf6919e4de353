"""Cases for sentences that no table of the other tests brings about. Plain data."""

from __future__ import annotations

# Facts and messages for the doctor, as in tests/rules/rule_cases.py; "report" is a pasted text.
DOCTOR = [
    ("gate", {"gpus": [], "platform": "linux", "require": ["gpu"]}),
    ("message with many meanings", {"error": "torch.cuda.is_available() returns False", "platform": "linux"}),
    (
        "quoted report",
        {
            "report": "   > NVIDIA-SMI 535.54.03   Driver Version: 535.54.03   CUDA Version: 12.2\n   > torch==2.9.1+cu130\n"
        },
    ),
    (
        "wish",
        {
            "driver": "470.57.02",
            "arch": "x86_64",
            "gpus": [{"name": "Tesla K80", "vendor": "nvidia", "target": "sm_37"}],
            "wishes": ["torch==2.9.1"],
        },
    ),
]

# Requests for resolve: requirements and facts of the host.
RESOLVE = [
    (
        ["tensorflow==2.12.0"],
        {"driver": "450.80.02", "gpus": [{"name": "NVIDIA GeForce RTX 2080", "vendor": "nvidia", "target": "sm_75"}]},
    ),
]
