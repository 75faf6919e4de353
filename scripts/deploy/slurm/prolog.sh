#!/bin/sh
# Slurm's Prolog: refuses a job on a node with a certain error; Slurm drains the node and queues the job again.
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" # slurmd gives none
conf=${ENVCHECK_CONF:-/etc/default/envcheck}
# shellcheck source=/dev/null
[ ! -r "$conf" ] || . "$conf"
line=$(timeout 50 envcheck doctor --format line --fail-on certain --timeout 20 "$@")
[ $? -ne 1 ] || { echo "envcheck: $line" >&2 && exit 1; }
