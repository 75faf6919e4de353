"""Forty kinds of secrets and names, planted where a machine has them: none leaves it."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import redaction

LETTERS = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
HEX = "0123456789abcdef" * 4
# variable -> (value, the part that must not be seen)
PLANTED = {
    "CONDA_PREFIX": ("/scratch/planted/envs/x", "planted"),
    "DOCKER_CONFIG": ("/mnt/planted", "planted"),
    "LD_LIBRARY_PATH": ("/data/planted/lib:/nfs/home/planted/lib:/usr/lib", "planted"),
    "CUDA_CACHE_PATH": ("/gpfs/projects/planted/cache", "planted"),
    "TORCH_HOME": ("/u/planted/.torch", "planted"),
    "TRITON_CACHE_DIR": ("/home/planted/.triton", "planted"),
    "PYTHONPATH": (f"/Users/planted/src:{os.environ.get('PYTHONPATH', '')}", "planted"),
    "MIOPEN_USER_DB_PATH": ("/lustre/users/planted/db", "planted"),
    "VIRTUAL_ENV": ("/mnt/planted/venv", "planted"),
    "XLA_FLAGS": ("--xla_dump_to=/scratch/planted/dump", "planted"),
    "NCCL_COMM_ID": ("10.1.2.3:99", "10.1.2.3"),
    "NCCL_TOPO": ("tcp://192.168.4.5:1", "192.168"),
    "GLOO_SOCKET": ("fe80::1ff:fe23:4567:890a", "fe80"),
    "UCX_NET": ("2001:db8:85a3:1:2:8a2e:370:7334", "2001:db8"),
    "CUDA_FOO": ("https://u:hunter2@idx/", "hunter2"),
    "VLLM_S3_BUCKET_PATH": ("s3://k:hunter3@b", "hunter3"),
    "TORCH_MIRROR": (f"https://{LETTERS}@mirror/simple", LETTERS),
    "DOCKER_HOST": ("ssh://planted@node", "planted"),
    "TORCH_SOURCE": ("git+ssh://planted@host/x.git", "planted"),
    "TORCH_A": (f"hf_{LETTERS}", LETTERS),
    "TORCH_B": (f"ghp_{LETTERS}", LETTERS),
    "TORCH_C": (f"github_pat_{LETTERS}", LETTERS),
    "TORCH_D": (f"glpat-{LETTERS}", LETTERS),
    "TORCH_E": (f"nvapi-{LETTERS}", LETTERS),
    "TORCH_F": (f"sk-{LETTERS}", LETTERS),
    "TORCH_G": (f"xoxb-{LETTERS}", LETTERS),
    "TORCH_H": ("AKIAIOSFODNN7EXAMPLE", "IOSFODNN"),
    "TORCH_I": (f"AIza{LETTERS}", LETTERS),
    "TORCH_J": (f"ya29.{LETTERS}", LETTERS),
    "TORCH_K": (f"npm_{LETTERS}", LETTERS),
    "TORCH_L": (f"dckr_pat_{LETTERS}", LETTERS),
    "TORCH_M": (f"pypi-{LETTERS}", LETTERS),
    "TORCH_N": (f"eyJhbGciOiJIUzI1NiJ9.{LETTERS}.{LETTERS}", LETTERS),
    "TORCH_O": ("-----BEGIN RSA PRIVATE KEY----- planted -----END RSA PRIVATE KEY-----", "planted"),
    "TORCH_P": (HEX[:40], HEX[:40]),
    "TORCH_Q": ("password=hunter4", "hunter4"),
    "TORCH_R": ('{"api_key": "hunter5"}', "hunter5"),
    "TORCH_S": ("Bearer " + LETTERS, LETTERS),
    "TORCH_T": ("someone.planted@example.org", "planted"),
    "TORCH_U": ("https://blob/x?sig=hunter6&se=1", "hunter6"),
    "TORCH_V": ("02:42:ac:11:00:02", "02:42:ac"),
    "TORCH_W": (f"xapp-1-A0-{LETTERS}", LETTERS),
    "TORCH_X": (f"sk_live_{LETTERS}", LETTERS),
    "TORCH_Y": (f"SG.{LETTERS}.{LETTERS}", LETTERS),
    "TORCH_Z": (f"SK{HEX[:32]}", HEX[:32]),
    "CUDA_A": (f"dapi{HEX[:32]}", HEX[:32]),
    "CUDA_B": (f"{LETTERS[:14]}.atlasv1.{LETTERS}", LETTERS),
    "CUDA_C": ("tool --password hunter12", "hunter12"),
    "CUDA_D": ("Serial: 1560123456789", "1560123456789"),
    "CUDA_E": (json.dumps({"path": ["C:\\Users\\planted\\x"]}), "planted"),
    "CUDA_F": ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "K7MDENG"),
    "CUDA_G": ("http://gpu-node17.corp.planted.internal:8080/x", "planted"),
    "HF_TOKEN": ("hunter7", "hunter7"),
    "NGC_API_KEY": ("hunter8", "hunter8"),
    "NVIDIA_ACCESS_TOKEN": ("hunter9", "hunter9"),
    "PIP_INDEX_URL": ("https://u:hunter10@idx/", "hunter10"),
    "AWS_SECRET_ACCESS_KEY": ("hunter11", "hunter11"),
    "HOSTNAME": ("planted-node-17", "planted-node"),
}


@pytest.mark.parametrize(
    "words", [["host"], ["host", "--full"], ["doctor", "--format", "json"], ["doctor"]], ids=" ".join
)
def test_nothing_private_leaves_the_machine(envcheck, words):
    envcheck.env = {**envcheck.env, **{name: value for name, (value, _) in PLANTED.items()}}
    code, out, err = envcheck(*words)
    assert code in {0, 1, 3}
    seen = {name for name, (_, part) in PLANTED.items() if part in out + err}
    if "--full" in words:  # which says that it shows names of people in paths, and nothing else
        assert "names of people in paths" in err
        seen = {name for name in seen if PLANTED[name][1] != "planted"}
    assert seen == set()


def test_nothing_private_leaves_with_the_facts_of_somebody_elses_host_file(envcheck):
    names = {"HF_TOKEN", "NGC_API_KEY", "NVIDIA_ACCESS_TOKEN", "AWS_SECRET_ACCESS_KEY", "HOSTNAME"}  # by name alone
    values = {f"CUDA_X{number}": PLANTED[name][0] for number, name in enumerate(sorted(PLANTED.keys() - names))}
    nested = {f"CUDA_Y{number}": json.dumps([{"a": value}]) for number, value in enumerate(values.values())}
    document = {"os": "ubuntu22.04", "env": values | nested}
    (envcheck.folder / "host.json").write_text(json.dumps(document))
    code, out, _ = envcheck("doctor", "--host", "host.json", "--format", "json")
    assert code == 3
    assert {part for name, (_, part) in PLANTED.items() if name not in names and part in out} == set()


@pytest.mark.parametrize(
    "text",
    [
        "/usr/local/cuda-12.4/lib64:/opt/rocm/lib",
        "8.9.7.29",
        "535.183.01",
        "libcudnn.so.8.9.7",
        "nvidia/cuda:12.4.1-base-ubuntu22.04@sha256:" + "0" * 20,
        "0000:07:00.0",
        "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
        "CUDA_VISIBLE_DEVICES=0,1",
        "tokenizers==0.19.1",
        "~/venv/bin/python",
        "https://docs.nvidia.com/deploy/xid-errors/",
    ],
)
def test_what_a_diagnosis_needs_stays(text):
    assert redaction.secrets(text) == redaction.places(text) == text


def test_a_variable_keeps_what_is_no_secret():
    for text in ("/opt/rocm/lib", "host.docker.internal:11434", "z" * 40, "/usr/local/cuda-12.4/targets/x86_64-linux"):
        assert redaction.variable(text) == text


@given(st.text(max_size=200))
def test_to_redact_twice_is_to_redact_once(text):
    once = redaction.places(redaction.variable(text))
    assert redaction.places(redaction.variable(once)) == once
