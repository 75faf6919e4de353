"""What a failed build's log is said to mean: the cause where a message in it is known, and nothing where none is."""

from __future__ import annotations

import pytest

from compat.app.logs import cause, keep
from compat.matrix import matrix

KNOWN = [
    ("#5 ERROR: toomanyrequests: You have reached your pull rate limit.", "no more images for now"),
    ("manifest for nvidia/cuda:1.0-base not found: manifest unknown: manifest unknown", "no image of this name"),
    (
        "ERROR: failed to solve: x/y:9: failed to resolve source metadata for docker.io/x/y:9: docker.io/x/y:9: not found",
        "no image of this name",
    ),
    ("pull access denied for mine/base, repository does not exist or may require 'docker login'", "refuses this user"),
    ("ERROR: failed to build: Attestation is not supported for the docker driver.", "containerd image store"),
    ("the --mount option requires BuildKit. Refer to https://docs.docker.com/go/buildkit/", "for BuildKit"),
    ("#9 3.1 W: Temporary failure resolving 'archive.ubuntu.com'", "could not be resolved"),
    (
        'Head "https://registry.example/v2/x/manifests/1": dial tcp: lookup registry.example on 10.0.0.2:53: no such host',
        "of a registry, the engine has none, or the name is wrong",
    ),
    ("ERROR: No matching distribution found for nosuch==1", "has no such package"),
    ("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate", "not trusted"),
    ("tls: failed to verify certificate: x509: certificate signed by unknown authority", "not trusted"),
    ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.", "not the one that the lock names"),
    ("#6 1.9 E: Version '3.12.*' for 'python3.12' was not found", "does not have this package"),
    ("#6 1.9 E: Unable to locate package python3.12", "does not have this package"),
    (
        "E: The repository 'http://archive.ubuntu.com/ubuntu eoan Release' does not have a Release file.",
        "no longer has",
    ),
    ("W: GPG error: https://x InRelease: signatures couldn't be verified: NO_PUBKEY A4B469963BF863CC", "signing key"),
    ("torch was built for cpu, planned cuda11.8", "not what was planned"),
    ("torch is 2.5.0, planned 2.0.1", "not what was planned"),
    ("exec /bin/sh: exec format error", "another processor architecture"),
    ("OSError: [Errno 28] No space left on device", "file system is full"),
]
HARMLESS = [
    "",
    "#12 exporting to image\n#12 DONE 3.0s",
    "#7 5.2 Get:7 http://mirror.example/debian bookworm/main amd64 python3.11 amd64 3.11.2-6 [573 kB]",
    "#8 2.0 Successfully installed numpy-2.1.0\n#8 2.1 WARNING: Running pip as the 'root' user",
    'ERROR: process "/bin/sh -c make" did not complete successfully: exit code: 2\ncannot use the thing: unsupported',
    "debconf: delaying package configuration, since apt-utils is not installed",
]


@pytest.mark.parametrize(("log", "means"), KNOWN, ids=[item[0][:40] for item in KNOWN])
def test_a_known_message_is_told_amid_the_noise_of_a_build(log, means):
    noise = "\n".join(HARMLESS)
    assert any(means in line for line in cause(f"{noise}\n{log}\n{noise}", matrix()))


@pytest.mark.parametrize("log", HARMLESS)
def test_a_log_without_a_known_message_is_not_explained(log):
    assert cause(log, matrix()) == ()


def test_the_last_log_is_kept_whole_and_nothing_in_the_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    keep("the one before")
    place = keep("a\nß\udcff\n" * 1000)
    assert place == str(tmp_path / "state" / "envcheck" / "build.log")
    with open(place, encoding="utf-8") as stream:
        assert stream.read() == "a\nß?\n" * 1000
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["build.log"]


@pytest.mark.parametrize("state", ["/dev/null", "relative"])
def test_a_log_that_cannot_be_kept_is_said_to_be_lost(monkeypatch, state):
    monkeypatch.setenv("XDG_STATE_HOME", state)
    assert keep("x").startswith("not kept, ")
