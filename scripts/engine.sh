#!/bin/sh
# A container engine for the engine tests: `engine.sh start` uses the one that answers, or starts a private dockerd
# (as root), makes the stand-in base images and prints the variables to export; `engine.sh stop` ends what it started.
# Nothing outside its own folder is touched; images are kept there, so that a second start is quick.
# ENVCHECK_ENGINE=podman starts Podman's service instead, which needs nothing but root.
# ENVCHECK_ENGINE_STORE=containerd keeps images in containerd's store, where the installed dockerd has it (24 or later):
# attestations and cache export need it, with the buildx plugin.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${ENVCHECK_ENGINE_DIR:-/tmp/envcheck-${ENVCHECK_ENGINE:-engine}}
socket=$folder/docker.sock
registry=5055 # the port on loopback where tests serve images to Podman, which wants TLS of every other one

say() { echo "engine: $*" >&2; }

answers() { docker version >/dev/null 2>&1; }

start_daemon() {
  command -v dockerd >/dev/null || { say "no dockerd is installed"; exit 3; }
  [ "$(id -u)" = 0 ] || { say "dockerd needs root, and no engine answers"; exit 3; }
  mkdir -p "$folder"
  containerd=false drivers="overlay2 vfs"
  [ "${ENVCHECK_ENGINE_STORE:-}" != containerd ] || { containerd=true drivers="overlayfs native"; }
  # A builder's cache has no bound of its own, and had grown to tens of gigabytes.
  printf '{"features": {"containerd-snapshotter": %s}, "builder": {"gc": {"enabled": true, "defaultKeepStorage": "5GB"}}}\n' \
    "$containerd" >"$folder/daemon.json"
  # No bridge and no firewall rules: builds use the machine's own network, probes use none.
  for driver in $drivers; do
    setsid dockerd --config-file "$folder/daemon.json" --data-root "$folder/data" --exec-root "$folder/exec" \
      --pidfile "$folder/pid" --host "unix://$socket" --bridge none --iptables=false --ip6tables=false \
      --storage-driver "$driver" >"$folder/dockerd-$driver.log" 2>&1 &
    for _ in $(seq 60); do
      answers && { say "dockerd with $driver on $socket"; return 0; }
      kill -0 $! 2>/dev/null || break
      sleep 0.5
    done
    end_daemon
  done
  tail -n 5 "$folder"/dockerd-*.log >&2
  say "dockerd did not come up"
  exit 3
}

# No limit above this machine's own, which only a service manager may raise; runc, for crun refuses a machine that has
# both versions of cgroups; Docker's registry for names without one, as tests write them, and the tests' own without TLS.
start_podman() {
  command -v podman >/dev/null || { say "no podman is installed"; exit 3; }
  mkdir -p "$folder"
  printf '[containers]\ndefault_ulimits = ["nofile=%s:%s", "nproc=4096:4096"]\n[engine]\nruntime = "runc"\n' \
    "$(ulimit -Sn)" "$(ulimit -Hn)" >"$folder/containers.conf"
  printf 'unqualified-search-registries = ["docker.io"]\n[[registry]]\nlocation = "127.0.0.1:%s"\ninsecure = true\n' \
    "$registry" >"$folder/registries.conf"
  # vfs copies the whole file system for each step of a build: it works everywhere, and takes minutes for an image.
  for driver in overlay vfs; do
    CONTAINERS_CONF=$folder/containers.conf CONTAINERS_REGISTRIES_CONF=$folder/registries.conf setsid podman \
      --root "$folder/$driver" --runroot "$folder/exec-$driver" --storage-driver "$driver" --events-backend file \
      --cgroup-manager cgroupfs system service --time 0 "unix://$socket" >"$folder/podman-$driver.log" 2>&1 &
    echo $! >"$folder/pid"
    for _ in $(seq 60); do
      answers && { say "podman with $driver on $socket"; return 0; }
      kill -0 $! 2>/dev/null || break
      sleep 0.5
    done
    end_daemon
  done
  tail -n 5 "$folder"/podman-*.log >&2
  say "podman did not come up"
  exit 3
}

end_daemon() {
  [ -s "$folder/pid" ] || return 0
  pid=$(cat "$folder/pid")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 40); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.5
  done
  kill -9 "$pid" 2>/dev/null || true
}

case ${1:-} in
  start)
    if ! answers; then
      DOCKER_HOST=unix://$socket
      export DOCKER_HOST
      answers || case ${ENVCHECK_ENGINE:-} in podman) start_podman ;; *) start_daemon ;; esac
    fi
    "$here/standin_images.sh" "$folder" >&2 || say "no stand-in images: the tests that need them will say so"
    [ -z "${DOCKER_HOST:-}" ] || echo "DOCKER_HOST=$DOCKER_HOST"
    [ "${ENVCHECK_ENGINE:-}" != podman ] || echo "ENVCHECK_REGISTRY_PORT=$registry"
    ;;
  stop)
    DOCKER_HOST=unix://$socket
    export DOCKER_HOST
    # stages and builds that failed stay as images without a name, more with each run; the rest is for another time
    ! answers || timeout 60 docker image prune --force >/dev/null 2>&1 || true
    end_daemon
    umount "$folder/exec/netns/default" 2>/dev/null || true # dockerd leaves its network namespace mounted
    ;;
  *)
    echo "usage: engine.sh start|stop" >&2
    exit 2
    ;;
esac
