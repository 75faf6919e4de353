#!/bin/sh
# Every engine test, the large ones too, one after the other; in the end the bytes and seconds of each image built.
# Usage: eval "export $(scripts/engine.sh start)" && scripts/engine_all.sh [WORDS FOR PYTEST]
# Needs some 15 GB where the engine keeps its images; half an hour on two cores.
set -eu
cd "$(dirname "$0")/.."
ENVCHECK_ENGINE_ALL=1 exec python3 -m pytest tests/engine --numprocesses 0 -rs --durations 10 "$@"
