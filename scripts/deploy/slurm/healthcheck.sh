#!/bin/sh
# Slurm's HealthCheckProgram: drains this node for a certain error and resumes only what it drained.
# /etc/default/envcheck may hold options for the doctor: set -- --require gpu,driver --expect-gpus 8
export PATH="${PATH:+$PATH:}/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" # slurmd gives none
conf=${ENVCHECK_CONF:-/etc/default/envcheck}
# shellcheck source=/dev/null
[ ! -r "$conf" ] || . "$conf"
node=${SLURMD_NODENAME:-$(hostname -s)}
line=$(timeout 50 envcheck doctor --format line --fail-on certain --timeout 20 "$@")
code=$?
reason=$(scontrol show node "$node" | sed -n 's/^ *Reason=//p')
case $code:$reason in
    1:) scontrol update NodeName="$node" State=DRAIN Reason="$line [envcheck]" ;;
    0:*"[envcheck]"*) scontrol update NodeName="$node" State=RESUME ;;
esac # another code says that the node could not be checked: then nothing changes
