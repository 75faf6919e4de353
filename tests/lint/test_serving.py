"""Serving commands on the GPU that was named: an error only where the rows prove that the format does not run there."""

import pytest

from compat import sources
from compat.app.lint import lint_files
from compat.app.plans import Target, machines_of
from compat.lint import lint
from compat.matrix import matrix

MATRIX = matrix()
SLIM = "FROM python:3.12-slim-trixie\nUSER 1000\n"
OLD = SLIM + "RUN pip install vllm==0.11.0\n"
SERVER = "FROM vllm/vllm-openai:v0.11.0\nUSER 1000\n"
SERVE = "vllm serve m --dtype bfloat16"
LISTED = '["vllm", "serve", "m", "--dtype", "bfloat16"]'


def exec_form(*words):
    """A CMD with these words."""
    return "CMD [" + ", ".join(f'"{word}"' for word in words) + "]\n"


def quantised(kind):
    """vLLM 0.11.0 with a quantisation."""
    return OLD + f"CMD vllm serve m --quantization {kind}\n"


def sglang(option):
    """SGLang 0.5.2 with an option."""
    return SLIM + f"RUN pip install sglang==0.5.2\nCMD python -m sglang.launch_server --model-path m {option}\n"


def compose(*lines, image="vllm/vllm-openai:v0.11.0"):
    """A compose file with one service; its lines begin on line 4."""
    return f"services:\n  llm:\n    image: {image}\n" + "".join(f"    {line}\n" for line in lines)


def pod(*lines, product="", image="vllm/vllm-openai:v0.11.0"):
    """A manifest with one container; its lines begin on line 9."""
    selector = f"{{nvidia.com/gpu.product: {product}}}" if product else "{disk: fast}"
    head = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: llm}}\nspec:\n  nodeSelector: {selector}\n  containers:\n"
    return head + f"    - name: llm\n      image: {image}\n" + "".join(f"      {line}\n" for line in lines)


def batch(line):
    """A batch script."""
    return f"#!/bin/bash\n#SBATCH --gres=gpu:1\npip install vllm==0.11.0\n{line}\n"


# file, its text, a GPU that lacks the kernels, line of the finding, words of the answer; a GPU that has them
FAULTS = [
    ("Dockerfile", OLD + f"CMD {SERVE}\n", "T4", 4, ["capability 8.0 on", "--dtype half"], "A100"),
    ("Dockerfile", OLD + f"CMD {LISTED}\n", "V100", 4, ["vllm 0.11.0 has bf16"], "L4"),
    ("Dockerfile", OLD + "ENTRYPOINT exec vllm serve m \\\n    --dtype=bfloat16\n", "T4", 5, ["--dtype half"], "A100"),
    ("Dockerfile", OLD + exec_form("python3", "-m", "vllm.entrypoints.openai.api_server", "--dtype", "bfloat16"), "T4",
     4, ["--dtype half"], "A100"),
    ("Dockerfile", OLD + 'ENTRYPOINT ["vllm", "serve", "m"]\n' + exec_form("--dtype", "bfloat16"), "T4", 5,
     ["--dtype half"], "A100"),
    ("Dockerfile", SERVER + exec_form("--model", "m", "--dtype", "bfloat16"), "T4", 3, ["vllm 0.11.0"], "A100"),
    ("Dockerfile", OLD.replace("==0.11.0", "") + f"CMD {SERVE}\n", "T4", 4, ["vllm has bf16"], "A100"),
    ("Dockerfile", quantised("fp8"), "T4", 4, ["fp8 kernels from compute capability 8.0 on", "awq"], "A100"),
    ("Dockerfile", quantised("awq"), "V100", 4, ["capability 7.5 on", "--quantization gptq"], "T4"),
    ("Dockerfile", quantised("gptq"), "M60", 4, ["capability 6.0 on"], "V100"),
    ("Dockerfile", quantised("awq_marlin"), "T4", 4, ["capability 8.0 on", "--quantization gptq"], "A100"),
    ("Dockerfile", quantised("modelopt_fp4"), "T4", 4, ["capability 8.0 on"], "B200"),
    ("Dockerfile", OLD + "CMD vllm serve m -q awq\n", "V100", 4, ["--quantization awq"], "T4"),
    ("Dockerfile", OLD + "CMD vllm serve m --dtype fp8\n", "A100", 4,
     ["capability 8.9 on", "Keep the weights alone in fp8"], "H100"),
    ("Dockerfile", SLIM + "RUN pip install vllm==0.32.0\nCMD vllm serve m --attention-config.flash_attn_version 3\n",
     "B200", 4, ["9.0 to 9.0", "flash_attn_version 4"], "H100"),
    ("Dockerfile", "FROM ghcr.io/huggingface/text-generation-inference:3.3.4\nUSER 1000\n"
     + exec_form("--model-id", "m", "--quantize", "marlin"), "T4", 3, ["text-generation-inference 3.3.4"], "A10"),
    ("Dockerfile", sglang("--quantization w8a8_fp8"), "RTX 3090", 4, ["8.9 on", "--quantization fp8"], "L4"),
    ("Dockerfile", sglang("--quantization fp8"), "T4", 4, ["capability 8.0 on", "w8a8_int8"], "RTX 3090"),
    ("Dockerfile", sglang("--attention-backend fa3"), "T4", 4, ["8.0 to 9.0", "flashinfer"], "RTX 3090"),
    ("Dockerfile", sglang("--attention-backend fa3"), "RTX 5090", 4, ["8.0 to 9.0", "flashinfer"], "H100"),
    ("compose.yaml", compose("command: --model m --dtype bfloat16"), "T4", 4, ["--dtype half"], "A100"),
    ("compose.yaml", compose("entrypoint: vllm serve", "command:", "  - m", "  - --dtype", "  - bfloat16"), "T4", 7,
     ["--dtype half"], "A100"),
    ("pod.yaml", pod('command: ["vllm", "serve"]', "args:", "  - m", "  - --dtype=bfloat16"), "T4", 12,
     ["--dtype half"], "A100"),
    ("pod.yaml", pod('args: ["--model", "m", "--dtype", "bfloat16"]'), "T4", 9, ["--dtype half"], "A100"),
    ("pod.yaml", pod('command: ["/bin/sh", "-c"]', "args:", f'  - "ulimit -l; exec {SERVE}"'), "T4", 11,
     ["--dtype half"], "A100"),
    ("serve.sbatch", batch(f"{SERVE} 2>&1 | tee log"), "T4", 4, ["vllm 0.11.0"], "A100"),
]  # fmt: skip
# file, its text, GPU: nothing is proven
QUIET = [
    ("Dockerfile", OLD + "CMD vllm serve m --dtype half\n", "T4"),
    ("Dockerfile", OLD + "CMD vllm serve m --dtype auto\n", "T4"),
    ("Dockerfile", OLD + "CMD vllm serve m --dtype $DTYPE\n", "T4"),
    ("Dockerfile", OLD + "ENV DTYPE=bfloat16\nCMD vllm serve m --dtype ${DTYPE}\n", "T4"),
    ("Dockerfile", quantised("quip"), "T4"),  # a format without rows
    ("Dockerfile", OLD + "CMD vllm serve m --kv-cache-dtype fp8\n", "T4"),  # no row tells on which GPUs
    ("Dockerfile", OLD + "CMD vllm serve m --dtype fp8\n", "MI300X"),  # gfx942 has it
    ("Dockerfile", OLD + f"CMD {SERVE}\n", "MI300X"),  # of AMD's nothing is known
    ("Dockerfile", OLD + f"CMD {SERVE} --device cpu\n", "T4"),
    ("Dockerfile", OLD + f"CMD {SERVE} --dtype half\n", "T4"),  # the last one counts
    ("Dockerfile", OLD + "CMD python train.py --dtype bfloat16\n", "T4"),
    ("Dockerfile", OLD + f"CMD {SERVE}\nCMD vllm serve m\n", "T4"),  # the last CMD counts
    ("Dockerfile", OLD.replace("FROM python:3.12-slim-trixie", "FROM python:3.12-slim-trixie AS old")
     + f'CMD {SERVE}\nFROM old\nENTRYPOINT ["vllm", "serve", "m"]\n', "T4"),  # drops the CMD above
    ("Dockerfile", OLD.replace("0.11.0", "0.14.0") + "CMD vllm serve m --quantization fp8\n", "T4"),
    ("Dockerfile", OLD.replace("0.11.0", "0.5.0") + "CMD vllm serve m --quantization fp8\n", "T4"),  # not known
    ("Dockerfile", OLD.replace("==0.11.0", "") + "CMD vllm serve m --quantization fp8\n", "T4"),
    ("Dockerfile", OLD + 'CMD ["sh", "-c", "if [ -f bf16 ]; then ' + SERVE + '; else vllm serve m; fi"]\n', "T4"),
    # SGLang takes float16 by itself on a GPU without bfloat16
    ("Dockerfile", SLIM + "RUN pip install sglang\nCMD python -m sglang.launch_server --dtype bfloat16\n", "T4"),
    # the tag is of SGLang's release, and says nothing of vLLM's
    ("Dockerfile", "FROM lmsysorg/sglang:v0.5.3\nCMD vllm serve m --quantization fp8\n", "T4"),
    ("compose.yaml", compose("command: --dtype ${DTYPE:-bfloat16}"), "T4"),
    ("compose.yaml", compose("entrypoint: /start.sh", "command: --dtype bfloat16"), "T4"),
    ("compose.yaml", compose("command: --dtype bfloat16", image="example.com/own:1"), "T4"),
    ("pod.yaml", pod('args: ["--dtype", "$(DTYPE)"]'), "T4"),
]  # fmt: skip


def told(folder, file, text, **machine):
    """The findings about number formats, each with its consequences."""
    (folder / file).write_text(text)
    report = lint_files([str(folder / file)], MATRIX, target=Target(**machine))
    return [found for found in report.findings if found.code == "precision-unsupported"]


def on(gpu):
    """A machine with a GPU."""
    return machines_of(Target(gpus=(gpu,)), MATRIX)[0]


@pytest.mark.parametrize(("file", "text", "gpu", "line", "words", "able"), FAULTS)
def test_a_format_without_kernels_on_the_gpu_is_an_error(tmp_path, file, text, gpu, line, words, able):
    (found,) = told(tmp_path, file, text, gpus=(gpu,))
    assert (found.severity, found.confidence, found.place.line) == ("error", "certain", line)
    said = f"{found.detail} {found.fix.text}"
    assert [word for word in words if word not in said] == []
    assert found.sources
    assert told(tmp_path, file, text, gpus=(able,)) == []
    assert told(tmp_path, file, text) == []  # no GPU is named


@pytest.mark.parametrize(("file", "text", "gpu"), QUIET)
def test_what_is_not_proven_is_not_said(file, text, gpu):
    report = lint(sources.read(text, file), MATRIX, on=on(gpu))
    assert [found.detail for found in report.findings if found.code == "precision-unsupported"] == []


def test_a_node_selector_names_the_gpu(tmp_path):
    args = 'args: ["--model", "m", "--dtype", "bfloat16"]'
    assert len(told(tmp_path, "pod.yaml", pod(args, product="Tesla-T4"))) == 1
    assert told(tmp_path, "pod.yaml", pod(args, product="NVIDIA-A100-SXM4-80GB")) == []


def test_one_of_two_gpus_is_enough(tmp_path):
    (found,) = told(tmp_path, "Dockerfile", OLD + f"CMD {SERVE}\n", gpus=("A100", "T4"))
    assert "T4" in found.detail
    assert not found.consequences


# file, its text, the line of the fault; 0 for none
CROWDED = [
    ("pod.yaml", pod('args: ["--model", "m", "-tp=2"]', "resources: {limits: {nvidia.com/gpu: 1}}"), 9),
    ("compose.yaml", compose("command: -tp 2 -pp 2", "gpus: [{count: 2}]"), 4),
    ("pod.yaml", pod('args: ["--model", "m", "-tp=2"]', "resources: {limits: {nvidia.com/gpu: 2}}"), 0),
    ("pod.yaml", pod('args: ["-tp=2", "--nnodes=2"]', "resources: {limits: {nvidia.com/gpu: 1}}"), 0),
    ("pod.yaml", pod('args: ["-tp", "$(N)"]', "resources: {limits: {nvidia.com/gpu: 1}}"), 0),
    ("pod.yaml", pod('command: ["sh", "-c", "ray start; vllm serve m --tp 2"]', "resources: {limits: {amd.com/gpu: 1}}"), 0),
    ("compose.yaml", compose("command: -tp 2", "gpus: all"), 0),
]  # fmt: skip


@pytest.mark.parametrize(("file", "text", "told"), CROWDED)
def test_a_server_on_more_gpus_than_it_gets_is_an_error(file, text, told):
    found = [each.place.line for each in lint(sources.read(text, file), MATRIX).findings if each.code == "gpus-too-few"]
    assert found == ([told] if told else [])


TORCH = "pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime"
ROCM = "rocm/pytorch:rocm6.2_ubuntu22.04_py3.10_pytorch_release_2.3.0"


def without_gpu(text, file="docker-compose.yml"):
    """What is told of services that get no GPU: line, severity, confidence and fix of each."""
    found = lint(sources.read(text, file), MATRIX).findings
    told = [one for one in found if one.code in {"container-no-gpu", "k8s-no-gpu-resource"}]
    return [(one.place.line, one.severity, one.confidence, one.fix.text) for one in told]


@pytest.mark.parametrize(
    ("text", "file", "way"),
    [
        (compose("command: python train.py", image=TORCH), "compose.yml", "`gpus: all`"),
        (compose('command: ["torchrun", "train.py"]', image=TORCH), "compose.yml", "`gpus: all`"),
        (compose("command: --model m"), "compose.yml", "`gpus: all`"),
        (compose("command: python3 train.py", image=ROCM), "compose.yml", "`devices: [/dev/kfd, /dev/dri]`"),
        (pod("args: [--model, m]"), "pod.yaml", "`resources: {limits: {nvidia.com/gpu: 1}}`"),
        (
            pod("command: [python, train.py]", "resources: {limits: {cpu: 4}}", image=ROCM), "pod.yaml",
            "`resources: {limits: {amd.com/gpu: 1}}`",
        ),
    ],
)  # fmt: skip
def test_a_service_that_computes_in_an_image_for_gpus_and_asks_for_none_is_told(text, file, way):
    line = 3 if file == "compose.yml" else 8
    assert without_gpu(text, file) == [(line, "warning", "likely", f"Add {way} to llm.")]


@pytest.mark.parametrize(
    "line",
    [
        "gpus: all",
        "runtime: nvidia",
        "privileged: true",
        "devices: [/dev/nvidia0:/dev/nvidia0]",
        "deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}",
        "deploy: {resources: {reservations: {generic_resources: [{discrete_resource_spec: {kind: gpu, value: 1}}]}}}",
        "extends: {file: gpu.yml, service: base}",
        'environment: {CUDA_VISIBLE_DEVICES: ""}',
    ],
)
def test_a_service_that_gets_a_gpu_or_means_to_have_none_is_left_alone(line):
    assert not without_gpu(compose("command: python train.py", line, image=TORCH))


@pytest.mark.parametrize(
    "line",
    [
        "resources: {limits: {nvidia.com/gpu: 1}}",
        "resources: {limits: {aliyun.com/gpu-mem: 8}}",
        "resources: {claims: [{name: gpu}]}",
        "securityContext: {privileged: true}",
    ],
)
def test_a_pod_that_gets_a_gpu_is_left_alone(line):
    assert not without_gpu(pod("args: [--model, m]", line), "pod.yaml")


def test_a_pod_of_a_runtime_class_is_left_alone():
    text = pod("args: [--model, m]").replace("spec:\n", "spec:\n  runtimeClassName: nvidia\n")
    assert not without_gpu(text, "pod.yaml")


@pytest.mark.parametrize("command", ["tensorboard --logdir runs", "sleep infinity", "python train.py --device cpu"])
def test_a_service_that_may_not_compute_on_a_gpu_is_left_alone(command):
    assert not without_gpu(compose(f"command: {command}", image=TORCH))
