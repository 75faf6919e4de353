#!/bin/sh
# Stand-ins for public base images where no image registry can be reached: Debian 12 by debootstrap from the machine's
# own apt mirror, with the machine's certificates and pip configuration so that steps reach its package index.
# Usage: standin_images.sh FOLDER (where the root file system is cached). Makes, each with the label
# dev.envcheck.standin, unless an image of that name is there already:
#   debian:12                               plain
#   python:3.11-slim, :3.11-slim-trixie     with Python 3.11 and pip as the official image has them, in /usr/local
#   nvidia/cuda:*, rocm/dev-ubuntu-22.04:*  plain: no toolkit is in them, only the names that plans use; the devel one
#                                           has a C++ compiler as the real one, and Python's headers
#   ghcr.io/astral-sh/uv:VERSION            uv's binary, where pip can fetch it; the version the templates name
set -eu

folder=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$folder/bookworm
label='LABEL dev.envcheck.standin=1'

has() { docker image inspect "$1" >/dev/null 2>&1; }

mirror() { # the first address of the machine's Debian sources
  sed -n 's/^URIs: *\([^ ]*debian\) *$/\1/p; s/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*debian\) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list 2>/dev/null | head -n 1
}

bootstrap() {
  [ -e "$root/.complete" ] && return 0
  command -v debootstrap >/dev/null || { echo "debootstrap is not installed" >&2; return 1; }
  rm -rf "$root"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$root" $(mirror) >"$folder/debootstrap.log" 2>&1
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  # What the official images do against stale caches, and what their slim forms leave out: small layers are quick ones.
  cat >"$root/etc/apt/apt.conf.d/docker-clean" <<'END'
DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb /var/cache/apt/archives/partial/*.deb /var/cache/apt/*.bin || true"; };
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
END
  echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/docker-no-languages"
  printf 'path-exclude /usr/share/%s/*\n' doc info locale man >"$root/etc/dpkg/dpkg.cfg.d/docker"
  for part in doc info locale man; do rm -rf "$root/usr/share/$part"/*; done
  rm -f "$root"/var/cache/apt/*.bin
  [ ! -r /etc/ssl/certs/ca-certificates.crt ] || cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
  [ ! -r /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
  : >"$root/.complete"
}

plain() { # NAME...: the same root file system under several names
  for name in "$@"; do
    has "$name" && continue
    has envcheck/standin:12 || tar -C "$root" --exclude=./.complete -c . |
      docker import --change "$label" --change 'ENV SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt' - envcheck/standin:12
    docker tag envcheck/standin:12 "$name"
  done
}

# The devel image is another name of the plain one at first: what it lacks is added once, for both builders.
with_compiler() {
  [ "$(docker image inspect --format '{{.Id}}' "$1")" = "$(docker image inspect --format '{{.Id}}' envcheck/standin:12)" ] ||
    return 0
  DOCKER_BUILDKIT=0 docker build --network host --tag "$1" - >"$folder/compiler.log" 2>&1 <<'END'
FROM debian:12
RUN apt-get update \
 && apt-get install --yes --no-install-recommends g++ python3.11 python3.11-dev python3-distutils \
 && rm -rf /var/lib/apt/lists/*
END
}

with_python() {
  build_python
  has python:3.11-slim-trixie || docker tag python:3.11-slim python:3.11-slim-trixie
}

build_python() {
  has python:3.11-slim && return 0
  DOCKER_BUILDKIT=0 docker build --network host --tag python:3.11-slim - >"$folder/python.log" 2>&1 <<'END'
FROM debian:12
RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3.11 python3.11-venv python3-distutils \
 && rm -rf /var/lib/apt/lists/* \
 && python3.11 -m venv /usr/local
END
}

with_uv() {
  version=$(sed -n 's/.*uv_image = ".*:\(.*\)".*/\1/p' "$here/../dockerfiles/_uv.j2")
  has "ghcr.io/astral-sh/uv:$version" && return 0
  place=$(mktemp -d)
  python3 -m pip download --quiet --no-deps --dest "$place" "uv==$version"
  (cd "$place" && python3 -m zipfile -e uv-*.whl . && chmod 755 "uv-$version.data/scripts/uv")
  tar -C "$place/uv-$version.data/scripts" -c uv | docker import --change "$label" - "ghcr.io/astral-sh/uv:$version"
  rm -rf "$place"
}

mkdir -p "$folder"
bootstrap
plain debian:12 nvidia/cuda:12.6.3-base-ubuntu22.04 nvidia/cuda:12.6.3-devel-ubuntu22.04 \
  nvidia/cuda:11.8.0-cudnn8-runtime-ubuntu22.04 rocm/dev-ubuntu-22.04:6.0.2-complete
with_compiler nvidia/cuda:12.6.3-devel-ubuntu22.04
with_python
with_uv || echo "no stand-in for uv" >&2
