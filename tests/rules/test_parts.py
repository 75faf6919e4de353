"""The parts under the rules: what commands say, what is installed, what packages ask, what the matrix knows."""

from __future__ import annotations

import pytest

from compat import versions
from compat.commands import Place, typed
from compat.facts import Build, Fact, Gpu, Host, Library, Unknown
from compat.facts import host as facts
from compat.reading import commands
from compat.reading.messages import Hearing, recognise
from compat.reading.preparation import prepared
from compat.rules import deeds, lookups, stack
from compat.rules.together import pairs

# --- commands ---


def _framework(host, matrix, name):
    return stack.named(stack.installed(host, matrix), name)


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("docker run --gpus all image", "docker"),
        ("docker-compose up -d", "docker"),
        ("docker compose run app", "docker"),
        ("docker build -t x .", "docker"),
        ("podman run --device nvidia.com/gpu=all ubuntu", "podman"),
        ("singularity exec --nv image.sif python x.py", "singularity"),
        ("apptainer run image.sif", "apptainer"),
        ("kubectl apply -f pod.yaml", "kubernetes"),
        ("pip install docker", ""),
        ("python train.py --run docker", ""),
        ("", ""),
    ],
)
def test_a_container_command_is_told_from_others(command, kind):
    assert commands.container_of((command,)) == kind


@pytest.mark.parametrize(
    ("command", "asks"),
    [
        ("docker run --gpus all x", True),
        ("docker run --runtime=nvidia x", True),
        ("docker run --device=/dev/kfd x", True),
        ("singularity exec --nv x", True),
        ("docker run -it x", False),
    ],
)
def test_whether_a_command_hands_over_a_gpu(command, asks):
    assert commands.asks_for_gpu(command) is asks


@pytest.mark.parametrize(
    ("command", "blind"),
    [
        ("docker run -it x", True),
        ("singularity shell nemo.sif", True),
        ("apptainer exec image.sif python x.py", True),
        ("podman container run ubuntu", True),
        ("singularity exec --nv image.sif python x.py", False),
        ("docker run --gpus all x", False),
        ("docker run --device nvidia.com/gpu=all x", False),
        ("docker run --privileged x", False),
        ("docker run ... x", False),  # its writer left out what matters
        ("docker compose run app", False),  # the compose file tells
        ("docker build .", False),
        ("pip install docker", False),
    ],
)
def test_whether_a_command_starts_a_container_without_a_gpu(command, blind):
    assert commands.starts_blind((command,)) is blind


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        ("docker run --device=/dev/kfd --device=/dev/dri rocm/pytorch", True),
        ("docker run --device /dev/kfd --group-add video rocm/pytorch", True),
        ("docker run --device=/dev/kfd --group-add video --group-add render rocm/pytorch", False),
        ("docker run --device=/dev/kfd --group-add=109 rocm/pytorch", False),
        ("podman run --device=/dev/kfd --group-add keep-groups rocm/pytorch", False),
        ("docker run --privileged --device=/dev/kfd rocm/pytorch", False),
        ("docker run --device=/dev/kfd --user root rocm/pytorch", False),
        ("docker run --gpus all image", False),
        ("ls /dev/kfd", False),
    ],
)
def test_whether_a_container_gets_the_nodes_without_their_group(command, lacks):
    assert commands.lacks_group((command,)) is lacks


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("docker run --device=/dev/kfd --user 1000 rocm/pytorch", True),
        ("docker run -u $(id -u):$(id -g) rocm/pytorch python train.py", True),
        ("docker run --device=/dev/kfd rocm/pytorch python -u train.py", False),  # an option of the program
        ("docker run --user root rocm/pytorch", False),
        ("sudo -u me python train.py", False),
    ],
)
def test_whether_a_container_is_given_a_user(command, named):
    assert commands.by_user((command,)) is named


@pytest.mark.parametrize(
    ("command", "compiles"),
    [
        ("python setup.py install", True),
        ("make -j8", True),
        ("pip install flash-attn --no-build-isolation", True),
        ("pip install git+https://github.com/x/y", True),
        ("pip install -e .", True),
        ("pip install torch", False),
        ("python train.py", False),
    ],
)
def test_whether_a_command_compiles(command, compiles):
    assert commands.compiles((command,)) is compiles


@pytest.mark.parametrize(
    ("command", "variant"),
    [
        ("pip install torch --index-url https://download.pytorch.org/whl/cu118", "cu118"),
        ("pip3 install --pre torch --index-url https://download.pytorch.org/whl/nightly/rocm6.2", "rocm6.2"),
        ("pip install torch --index-url https://download.pytorch.org/whl/cpu", "cpu"),
        ("pip install torch", ""),
    ],
)
def test_the_variant_of_the_index(command, variant):
    assert commands.index_variant((command,)) == variant


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("pip install torch==2.0.1 torchvision", {"torch": "2.0.1", "torchvision": ""}),
        ("conda install pytorch=1.13 cudatoolkit=11.6 -c pytorch", {"pytorch": "1.13", "cudatoolkit": "11.6"}),
        ('pip install "jax[cuda12]==0.4.30"', {"jax": "0.4.30"}),
        ("pip install 'tensorflow[and-cuda]'", {"tensorflow": ""}),
        ("uv add numpy", {"numpy": ""}),
        ("python -m this", {}),
    ],
)
def test_what_a_command_installs(command, found):
    told = commands.requirements((command,))
    assert {name: told.get(name) for name in found} == found


def test_a_build_of_an_image_is_told_from_a_run():
    assert commands.builds_image(("docker build .",))
    assert not commands.builds_image(("docker run x",))


# --- what is installed ---

RUNTIMES = [
    ({"packages": {"torch": "2.0.1+cu118"}}, "torch", "cuda11.8"),
    ({"packages": {"torch": "2.5.1+rocm6.2"}}, "torch", "rocm6.2"),
    ({"packages": {"torch": "2.5.1+cpu"}}, "torch", "cpu"),
    ({"packages": {"torch": "2.5.1"}, "builds": {"torch": {"runtime": "cuda12.4"}}}, "torch", "cuda12.4"),
    ({"packages": {"torch": "1.7.1"}, "platform": "linux", "arch": "x86_64"}, "torch", "cuda10.2"),
    ({"packages": {"torch": "2.5.1"}, "platform": "windows", "arch": "x86_64"}, "torch", "cpu"),
    ({"packages": {"jax": "0.4.30", "jaxlib": "0.4.30", "jax-cuda12-plugin": "0.4.30"}}, "jax", "cuda12"),
    ({"packages": {"jaxlib": "0.1.74+cuda11.cudnn82"}}, "jax", "cuda11"),
    ({"packages": {"tensorflow-cpu": "2.15.0"}}, "tensorflow", "cpu"),
    ({"conda_packages": {"pytorch": "2.1.0"}, "builds": {"torch": {"runtime": "cuda11.8"}}}, "torch", "cuda11.8"),
]


@pytest.mark.parametrize(("values", "name", "runtime"), RUNTIMES)
def test_the_runtime_of_a_framework(matrix, values, name, runtime):
    item = _framework(facts("test", **values), matrix, name)
    assert item is not None
    assert item.runtime == runtime


def test_a_runtime_of_the_default_index_is_marked_as_inferred(matrix):
    plain = _framework(facts("t", packages={"torch": "1.7.1"}), matrix, "torch")
    tagged = _framework(facts("t", packages={"torch": "1.7.1+cu110"}), matrix, "torch")
    assert (plain.inferred, tagged.inferred) == (True, False)


def test_kernels_come_from_the_matrix_unless_the_build_says_them(matrix):
    row = _framework(facts("t", packages={"torch": "2.5.1+cu124"}), matrix, "torch")
    said = _framework(
        facts("t", packages={"torch": "2.5.1+cu124"}, builds={"torch": {"kernels": ["sm_90"]}}), matrix, "torch"
    )
    assert "sm_80" in row.kernels
    assert said.kernels == ("sm_90",)


def test_an_unknown_release_has_no_row_and_no_kernels(matrix):
    item = _framework(facts("t", packages={"torch": "2.0.0a0+git5876d91"}), matrix, "torch")
    assert (item.row, item.kernels, item.runtime) == (None, (), "")


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("2.1", "2.1.0", True),
        ("2.1.0", "2.1.1", False),
        ("2.1.0", "2.1.0rc1", False),
        ("1.0a0", "1.0a0", True),
        ("x", "x", True),
    ],
)
def test_releases_compare_with_trailing_zeros_dropped(left, right, same):
    assert versions.same_release(left, right) is same


@pytest.mark.parametrize(
    ("values", "tag"),
    [
        ({"platform": "linux", "arch": "x86_64"}, "linux_x86_64"),
        ({"platform": "wsl2", "arch": "x86_64"}, "linux_x86_64"),
        ({"platform": "linux", "arch": "arm64"}, "linux_aarch64"),
        ({"platform": "windows"}, "win_amd64"),
        ({"platform": "darwin", "arch": "arm64"}, "macosx_arm64"),
        ({"platform": "darwin", "arch": "x86_64"}, "macosx_x86_64"),
        ({}, ""),
    ],
)
def test_the_platform_in_the_matrix_spelling(values, tag):
    assert stack.platform_tag(facts("t", **values)) == tag


# --- what is installed side by side ---

LINES = ["numpy<2; python_version < '3.9'", "torch==1.0; extra == 'all'", "triton==3.0.0"]


@pytest.mark.parametrize(
    ("python", "broken"), [("3.11.2", {"triton"}), ("3.8.1", {"numpy", "triton"}), ("3.11", {"triton"})]
)
def test_requirements_of_extras_and_of_other_pythons_do_not_count(matrix, python, broken):
    packages = {"addon": "1.0", "numpy": "2.0.0", "torch": "2.0.0", "triton": "3.1.0"}
    host = facts(
        "t", packages=packages, package_requires={"addon": LINES}, python=python, platform="linux", arch="x86_64"
    )
    asked = [pair for pair in pairs(host, matrix) if pair.left.name == "addon"]
    assert {pair.right.name for pair in asked if pair.clash} == broken


def test_a_pair_that_rests_on_an_inferred_row_is_likely_and_any_other_certain(matrix):
    def sure(**packages):
        found = pairs(facts("t", packages=packages, python="3.10", platform="linux", arch="x86_64"), matrix)
        return next(pair.confidence for pair in found if pair.clash)

    assert sure(torch="2.0.1", numpy="2.0.0") == "certain"
    assert sure(torch="2.4.0", torchaudio="2.3.0") == "likely"


def test_a_post_release_is_judged_as_itself(matrix):
    host = facts(
        "t", packages={"torch": "2.7.0", "xformers": "0.0.32.post1"}, python="3.11", platform="linux", arch="x86_64"
    )
    assert [pair.clash.wants for pair in pairs(host, matrix) if pair.clash] == ["==2.8.0"]


# --- the matrix's answers ---


@pytest.mark.parametrize(
    ("cuda", "target", "stand"),
    [
        ("11.0", "sm_86", "too new"),
        ("12.8", "sm_120", "known"),
        ("12.4", "sm_120", "too new"),
        ("13.0", "sm_61", "too old"),
        ("11.8", "sm_37", "known"),
        ("12", "sm_37", ""),
        ("12.4", "gfx1030", ""),
    ],
)
def test_how_a_release_stands_to_a_device(matrix, cuda, target, stand):
    assert lookups.knows(matrix, cuda, target) == stand


@pytest.mark.parametrize(
    ("target", "recent"),
    [("sm_61", False), ("sm_80", False), ("sm_89", True), ("sm_90", True), ("sm_120", True), ("gfx1100", False)],
)
def test_recent_targets(matrix, target, recent):
    assert lookups.recent(matrix, target) is recent


@pytest.mark.parametrize(
    ("text", "is_one"), [("12.4", True), ("v12", True), ("", False), (None, False), ("x1", False), ("1.2rc3", True)]
)
def test_what_counts_as_a_version(text, is_one):
    assert lookups.is_version(text) is is_one


# --- deeds ---


def test_gpus_are_handed_over_as_their_vendor_needs_it():
    amd = deeds.run_with_gpu(facts("t", gpus=[{"vendor": "amd"}]))
    nvidia = deeds.run_with_gpu(facts("t", gpus=[{"vendor": "nvidia"}]))
    assert "/dev/kfd" in typed([amd], Place())[0]
    assert typed([nvidia], Place()) == ("docker run --gpus all IMAGE",)


# --- preparation ---


def _prepare(matrix, values, error="", ran=()):
    return prepared(facts("test", **values), recognise(error, matrix), matrix, ran)


@pytest.mark.parametrize(("driver", "target"), [("390.157", ""), ("470.57.02", "sm_35"), (None, "")])
def test_a_driver_from_after_a_chips_last_branch_tells_which_chip_a_name_means(matrix, driver, target):
    host = _prepare(matrix, {"gpus": [{"name": "GeForce GT 720M"}], "driver": driver})
    assert host.gpus[0].target == target


def test_targets_are_completed_by_name(matrix):
    host = _prepare(
        matrix,
        {
            "gpus": [
                {"name": "NVIDIA GeForce RTX 4090"},
                {"name": "Tesla V100-SXM2-16GB"},
                {"name": "Radeon RX 7900 XTX"},
            ]
        },
    )
    assert [(gpu.vendor, gpu.target) for gpu in host.gpus] == [
        ("nvidia", "sm_89"),
        ("nvidia", "sm_70"),
        ("amd", "gfx1100"),
    ]


def test_a_name_that_fits_several_targets_leaves_the_target_open(matrix):
    host = _prepare(matrix, {"gpus": [{"name": "somebody's own accelerator", "vendor": "nvidia"}]})
    assert [gpu.target for gpu in host.gpus] == [""]


def test_the_text_fills_blanks_of_the_host_and_no_more(matrix):
    text = "GeForce RTX 3070 with CUDA capability sm_86 is not compatible with the current PyTorch installation."
    host = _prepare(matrix, {"gpus": [{"name": "GeForce RTX 3070"}]}, text)
    assert host.gpus[0].target == "sm_86"
    text = "The current PyTorch install supports CUDA capabilities sm_37 sm_50."
    host = _prepare(matrix, {"builds": {"torch": {"runtime": "cuda10.2"}}}, text)
    assert host.builds["torch"] == Build(runtime="cuda10.2", kernels=("sm_37", "sm_50"))


def test_a_container_is_inferred_from_the_command_unless_it_is_known(matrix):
    assert _prepare(matrix, {}, ran=("docker run x",)).container == "docker"
    assert _prepare(matrix, {"container": None}, ran=("docker run x",)).absent("container")


def test_missing_libraries_of_the_text_join_those_of_the_host(matrix):
    text = "libcudnn.so.8: cannot open shared object file: No such file or directory"
    host = _prepare(matrix, {"libraries": [{"name": "libnccl.so.2", "path": "/usr/lib/libnccl.so.2"}]}, text)
    assert [item.name for item in host.libraries] == ["libnccl.so.2", "libcudnn.so.8"]


def test_a_reason_for_an_unknown_fact_survives_unless_the_text_states_it(matrix):
    host = Host({"driver_cuda": Unknown("NVML hangs", "nvml"), "gpus": Unknown("denied", "sysfs")})
    ready = prepared(
        host, recognise("The NVIDIA driver on your system is too old (found version 11040).", matrix), matrix, ()
    )
    assert ready.driver_cuda == "11.4"
    assert ready.reading("gpus") == Unknown("denied", "sysfs")


def test_without_text_and_commands_the_host_is_unchanged(matrix):
    host = Host(
        {
            "gpus": Fact((Gpu(name="x", vendor="nvidia", target="sm_80"),), "t"),
            "libraries": Fact((Library(name="a"),), "t"),
        }
    )
    assert prepared(host, Hearing(), matrix, ()) == host


def test_a_newer_libcuda_in_the_image_makes_an_old_driver_no_fault_on_a_data_center_gpu():
    """Forward compatibility: the loader takes libcuda from a cuda-compat package, which then counts."""
    from compat.matrix import matrix
    from compat.rules import judge

    values = {
        "platform": "linux",
        "arch": "x86_64",
        "driver": "535.104.05",
        "gpus": [{"name": "NVIDIA A100-SXM4-40GB", "vendor": "nvidia", "target": "sm_80"}],
        "packages": {"torch": "2.9.1+cu130"},
        "builds": {"torch": {"runtime": "cuda13.0"}},
    }
    library = {"name": "libcuda.so.1", "path": "/usr/local/cuda-13.0/compat/libcuda.so.1", "version": "580.65.06"}
    codes = []
    for loaded in (True, False):
        found = {"libraries": [{**library, "origin": "compat", "loaded": loaded}]}
        codes.append({finding.code for finding in judge(facts("t", **values, **found), matrix()).findings})
    assert "driver-too-old-for-runtime" not in codes[0]
    assert "forward-compat-conflict" not in codes[0]
    assert "driver-too-old-for-runtime" in codes[1]
