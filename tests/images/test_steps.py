"""What is installed in which order, by which command, and what the image is then asked: small plans, exact answers."""

import shlex
from dataclasses import replace

import pytest
from factory import Settings
from hypothesis import given
from hypothesis import strategies as st

from compat.dockerfile import commands, quoting, steps, write
from compat.plan import DriverNeed, GpuVerdict, Plan, PlannedBuild

CU118 = "https://download.pytorch.org/whl/cu118"
PAGE = "https://example.org/wheels.html"


def build(name="torch", version="2.0.1", **more):
    return PlannedBuild(name=name, version=version, **{"runtime": "cuda11.8", **more})


def plan(*builds, **more):
    return Plan(**{"runtime": "cuda11.8", "python": "3.10", "builds": builds, **more})


def told(found):
    """(requirements, argument, option, loose) of each step."""
    return [(item.requirements, item.argument, item.option, item.loose) for item in found]


@pytest.mark.parametrize(
    ("builds", "expected"),
    [
        ((), []),
        ((build(),), [(("torch==2.0.1",), "", "", ())]),
        (
            (build(version="2.0.1+cu118", index=CU118),),
            [(("torch==2.0.1+cu118",), "TORCH_INDEX", "--index-url", ())],
        ),
        # special indexes first, whatever the order asked; the default one once
        (
            (build("numpy", "1.26", runtime=""), build(index=CU118), build("torchvision", "0.15.2", index=CU118)),
            [
                (("torch==2.0.1", "torchvision==0.15.2"), "TORCH_INDEX", "--index-url", ()),
                (("numpy==1.26",), "", "", ()),
            ],
        ),
        ((build("jax-x", index=PAGE, links=True),), [(("jax-x==2.0.1",), "JAX_X_INDEX", "--find-links", ())]),
        ((build(pins=("a==1", "b==2")),), [(("torch==2.0.1", "a==1", "b==2"), "", "", ())]),
        ((build(compile=True),), []),
        # what these import and do not require
        ((build("paddlepaddle-gpu", "3.0.0"),), [(("paddlepaddle-gpu==3.0.0",), "", "", ("setuptools",))]),
        (
            (build("paddlepaddle-gpu", "3.0.0", index=CU118),),
            [
                (("paddlepaddle-gpu==3.0.0",), "PADDLEPADDLE_GPU_INDEX", "--index-url", ()),
                ((), "", "", ("setuptools",)),
            ],
        ),
    ],
)
def test_one_step_per_index_and_never_two_indexes_in_one(builds, expected):
    assert told(steps.installs(plan(*builds))) == expected


@pytest.mark.parametrize(("compiler", "loose"), [(False, ()), (True, ("setuptools",))])
def test_a_compiler_at_run_time_needs_what_tritons_launcher_imports(compiler, loose):
    assert [item.loose for item in steps.installs(plan(build()), compiler=compiler)] == [loose]
    assert [item.loose for item in steps.installs(plan(build("jax")), compiler=compiler)] == [()]


@pytest.mark.parametrize(
    ("builds", "system", "copies"),
    [
        ((build(cuda_from="packages"),), (), 1),
        ((build(cuda_from="packages"), build("jax", cuda_from="packages")), (), 1),  # they share the packages
        ((build(cuda_from="wheel"), build("jax", cuda_from="wheel")), (), 2),
        ((build(cuda_from="wheel"), build("jax", cuda_from="packages")), (), 2),
        ((build(cuda_from="system"),), ("cuda11.8", "cudnn8"), 1),
        ((build(cuda_from="system"),), (), 1),
        ((build(cuda_from="wheel"),), ("cuda11.8",), 2),
        ((build(cuda_from="wheel", runtime="rocm6.2"),), ("rocm6.2",), 2),
        ((build(cuda_from="wheel", runtime="cpu"),), (), 0),
        ((build(cuda_from="wheel", runtime=""),), (), 0),
        ((), ("cudnn8",), 0),
        ((), (), 0),
    ],
)
def test_copies_of_the_gpu_libraries_that_cannot_be_avoided(builds, system, copies):
    assert steps.toolkit_copies(plan(*builds, system=system)) == copies


def gpu(target):
    return GpuVerdict(name="x", target=target, kernels="native")


@pytest.mark.parametrize(
    ("targets", "override", "expected"),
    [
        ((), "", ()),
        (("gfx1031",), "10.3.0", ("gfx1031", "gfx1030")),
        (("gfx90c",), "9.0.10", ("gfx90c", "gfx90a")),
        (("gfx1030", "gfx1030"), "", ("gfx1030",)),
        (("gfx90a:xnack-",), "", ("gfx90a",)),
        (("gfx1030",), "10.3", ("gfx1030",)),
        (("gfx1030",), "ten", ("gfx1030",)),
        (("",), "", ()),
    ],
)
def test_targets_that_need_kernels_and_the_sibling_they_borrow_from(targets, override, expected):
    env = {"HSA_OVERRIDE_GFX_VERSION": override} if override else None
    assert steps.gpu_targets(plan(gpus=tuple(map(gpu, targets)), env=env)) == expected


def test_the_check_is_told_all_that_was_planned():
    made = plan(
        build(module="torch", cuda_from="wheel", pins=("a==1",)),
        build("tool", "1", module="", runtime=""),
        python="3.13t",
    )
    assert steps.expectations(made, imports=True) == {
        "python": "3.13",
        "machines": ["x86_64"],
        "versions": {"torch": "2.0.1", "tool": "1", "a": "1"},
        "copies": 1,
        "builds": {"torch": "cuda11.8"},
    }
    assert steps.expectations(made, imports=False)["builds"] == {}


@pytest.mark.parametrize(
    ("package", "path", "files"),
    [
        ("cuda-compat-12-8", "/usr/local/cuda/compat:/x", ["/usr/local/cuda/compat/libcuda.so.1"]),
        ("cuda-compat-12-8", "", None),
        ("", "/usr/local/cuda/compat", None),
    ],
)
def test_the_newer_driver_that_a_plan_needs_must_be_in_the_base(package, path, files):
    made = plan(driver=DriverNeed(package=package), env={"LD_LIBRARY_PATH": path})
    assert steps.expectations(made, imports=False).get("files") == files


@pytest.mark.parametrize(
    ("step", "builds", "words"),
    [
        (steps.Install((), loose=("setuptools",)), (), "setuptools is imported by these builds and not declared"),
        (steps.Install((), PAGE, "A", "--find-links"), (), "names one file of this page"),
        (steps.Install((), CU118, "A", "--index-url"), (), "This index alone"),
        (steps.Install(()), (build(cuda_from="packages"),), "the GPU libraries come as packages"),
        (steps.Install(()), (build(cuda_from="packages", index=CU118),), "The default index."),
        (steps.Install(()), (build(cuda_from="wheel"),), "The default index."),
    ],
)
def test_each_step_says_why_it_is_as_it_is(step, builds, words):
    assert words in steps.reason(step, plan(*builds))


def test_the_constraints_are_every_version_and_then_what_is_shared():
    made = plan(build(pins=("a==1",)), build("jax", "0.4.1"), constraints=("numpy<2",))
    assert steps.constraints(made) == ("torch==2.0.1", "jax==0.4.1", "a==1", "numpy<2")


# installer, builder, bytecode -> the words that every call begins with
CALLS = [
    (False, "buildkit", False, "/opt/tools/bin/pip --python /opt/venv/bin/python install --no-compile"),
    (False, "buildkit", True, "/opt/tools/bin/pip --python /opt/venv/bin/python install"),
    (False, "classic", True, "/opt/tools/bin/pip --python /opt/venv/bin/python install --no-cache-dir"),
    (False, "classic", False, "/opt/tools/bin/pip --python /opt/venv/bin/python install --no-compile --no-cache-dir"),
    (True, "buildkit", False, "/opt/tools/bin/uv pip install --python /opt/venv/bin/python"),
    (True, "buildkit", True, "/opt/tools/bin/uv pip install --python /opt/venv/bin/python --compile-bytecode"),
    (True, "classic", False, "/opt/tools/bin/uv pip install --python /opt/venv/bin/python --no-cache"),
]


@pytest.mark.parametrize(("uv", "builder", "bytecode", "begins"), CALLS)
def test_an_installers_call(uv, builder, bytecode, begins):
    made = commands.Commands(Settings(builder=builder, bytecode=bytecode), uses_uv=uv, forget_vendor=False)
    (call,) = made.install(steps.Install(("torch==2.0.1+cu118",), CU118, "TORCH_INDEX", "--index-url", ("loose",)))
    option = "--default-index" if uv else "--index-url"
    assert shlex.split(call.replace("\\\n", " ")) == [
        *begins.split(),
        "--constraint",
        "/opt/tools/constraints.txt",
        option,
        "${TORCH_INDEX}",
        "torch==2.0.1+cu118",
        "loose",
    ]


@pytest.mark.parametrize(("uv", "strategy"), [(False, []), (True, ["--index-strategy", "unsafe-best-match"])])
def test_a_lock_is_held_by_its_hashes_and_not_by_the_constraints(uv, strategy):
    made = commands.Commands(Settings(), uses_uv=uv, forget_vendor=False)
    found = [steps.Install((), CU118, "TORCH_INDEX", "--index-url"), steps.Install((), PAGE, "P", "--find-links")]
    (call,) = made.install_lock([*found, steps.Install(())], "/lock.txt")
    words = shlex.split(call.replace("\\\n", " "))
    assert words[words.index("--extra-index-url") :] == [
        "--extra-index-url", "${TORCH_INDEX}", "--find-links", "${P}", *strategy, "--no-deps", "--require-hashes",
        "--requirement", "/lock.txt",
    ]  # fmt: skip
    assert "--constraint" not in words
    (plain,) = made.install_lock([steps.Install(())], "/lock.txt")
    assert "unsafe-best-match" not in plain


@pytest.mark.parametrize(("path", "given"), [("", ["'b<2'", "c"]), ("/r.txt", ["--requirement /r.txt", "'b<2'", "c"])])
def test_what_the_application_needs_comes_within_the_constraints(path, given):
    (call,) = commands.Commands(Settings(), uses_uv=False, forget_vendor=False).install_extra(["b<2", "c"], path)
    assert call.split(" \\\n      ")[1:] == ["--constraint /opt/tools/constraints.txt", *given]


@pytest.mark.parametrize("forget", [True, False])
@pytest.mark.parametrize("builder", ["buildkit", "classic"])
def test_apt_leaves_no_lists_in_the_layer_and_sorts_what_it_installs(builder, forget):
    made = commands.Commands(Settings(builder=builder), uses_uv=False, forget_vendor=forget)
    lines = made.apt_install(["git", "python3.10=3.10.*", "ca-certificates"])
    assert lines[0].startswith("rm -f /etc/apt/sources.list.d/cuda") is forget
    install = next(line for line in lines if line.startswith("apt-get install"))
    assert install.split(" \\\n      ")[1:] == ["ca-certificates", "git", "'python3.10=3.10.*'"]
    assert ("archives=kept" in install) is (builder == "buildkit")
    assert (lines[-1] == "rm -rf /var/lib/apt/lists/*") is (builder == "classic")
    assert lines.index("apt-get update") < lines.index(install)


@pytest.mark.parametrize(("builder", "last"), [("classic", "dnf clean all"), ("buildkit", None)])
def test_dnf_likewise(builder, last):
    lines = commands.Commands(Settings(builder=builder), uses_uv=False, forget_vendor=False).dnf_install(["b", "a"])
    assert lines[0].split(" \\\n      ")[1:] == ["a", "b"]
    assert ("keepcache" in lines[0]) is (last is None)
    assert lines[1:] == ([last] if last else [])


def test_each_command_of_a_step_needs_the_one_before():
    assert commands.run(["a", "b"], ["type=cache,target=/x"]) == (
        "RUN --mount=type=cache,target=/x \\\n    a \\\n && b"
    )
    assert commands.run(["a"]) == "RUN a"


@given(st.dictionaries(st.sampled_from("ABC"), st.text(max_size=20)))
def test_values_of_env_are_words_that_the_builder_reads_back(table):
    """Docker's own reading of a double-quoted word: a backslash keeps what follows, nothing is expanded."""
    text = commands.pairs(table)
    kept = {}
    for key, value in table.items():
        escaped = quoting.word(value)
        assert f"{key}={escaped}" in text
        plain, at = "", 1
        while at < len(escaped) - 1:
            at += escaped[at] == "\\"
            plain += escaped[at]
            at += 1
        kept[key] = plain
    assert kept == table


@given(
    st.lists(st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12), max_size=4)
)
def test_a_written_file_holds_just_its_lines(lines):
    made = commands.Commands(Settings(), uses_uv=False, forget_vendor=False).write_lines(lines, "/f")
    words = shlex.split(made.replace(" \\\n      ", " "))
    assert words == ["printf", "%s\\n", *lines, ">", "/f"]


@pytest.mark.parametrize(("os", "python"), [("almalinux8", "3.6"), ("rockylinux8", "3.11"), ("fedora43", "3.14")])
def test_a_python_of_the_red_hat_family_is_asked_for_by_its_file(plans, os, python):
    """Its package is python36 on RHEL 8, python3 where it is the default, python3.11 elsewhere; headers likewise."""
    plan = plans["torch_rocky"]
    base = replace(plan.base_image, os=os, python_from="distribution")
    text = write(replace(plan, python=python, base_image=base), Settings(compiler=True))
    installed = shlex.split(text.partition("dnf install ")[2].partition("&&")[0].replace("\\\n", " "))
    assert f"/usr/bin/python{python}" in installed
    assert f"pkgconfig(python-{python})" in installed
    assert not [word for word in installed if word.startswith("python3")]
