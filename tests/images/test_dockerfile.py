"""Dockerfiles: what a reviewer would look for, read back with a parser of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from factory import Settings, write

from compat import plan as plans_module
from compat.dockerfile import elsewhere, ignore_file
from compat.errors import InputError
from compat.matrix import matrix
from compat.plan import PlannedBuild
from compat.resolve import resolve
from compat.resolve.target import from_options

PLANS = sorted(path.stem for path in (Path(__file__).parent / "plans").glob("*.json"))
every_plan = pytest.mark.parametrize("plan", PLANS, indirect=True)
both_builders = pytest.mark.parametrize("builder", ["buildkit", "classic"])


@every_plan
@both_builders
def test_every_image_runs_as_a_numeric_user_that_is_not_root(plan, builder, parsed):
    users = [rest for keyword, rest in parsed(write(plan, Settings(builder=builder))) if keyword == "USER"]
    assert users == ["10001:10001"]


@every_plan
@both_builders
def test_every_base_is_an_argument_that_names_the_planned_image(plan, builder, parsed):
    found = parsed(write(plan, Settings(builder=builder)))
    assert found[0] == ("ARG", f"BASE={plan.base_image.image}")
    stages = {rest.split()[-1] for keyword, rest in found if keyword == "FROM"}
    for keyword, rest in found:
        if keyword == "FROM":
            origin = rest.split()[0]
            assert origin in stages or origin in {"${BASE}", "${UV_IMAGE}"}


@every_plan
@both_builders
def test_no_step_can_see_two_indexes(plan, builder, parsed):
    """The commonest real fault: a second index from which an unpinned name escapes."""
    for keyword, rest in parsed(write(plan, Settings(builder=builder, requirements=("rich",)))):
        if keyword == "RUN":
            assert "extra-index-url" not in rest
            assert rest.count("--index-url") <= 1


BASE = plans_module.BaseImage(
    image="nvidia/cuda:12.4.1-base-ubuntu22.04", os="ubuntu22.04", flavour="base", python="3.12", python_from="uv"
)


@both_builders
@pytest.mark.parametrize(("links", "option"), [(True, "--find-links"), (False, "--index-url")])
def test_a_page_of_links_is_known_by_the_plan_and_not_by_its_name(builder, links, option):
    """The assets of a release on GitHub are such a page, and their address ends like any other."""
    page = "https://github.com/Dao-AILab/flash-attention/releases/expanded_assets/v2.8.3"
    build = PlannedBuild(name="flash-attn", version="2.8.3+cu12torch2.4", runtime="cuda12.4", index=page, links=links)
    plan = plans_module.Plan(runtime="cuda12.4", python="3.12", builds=(build,), base_image=BASE)
    text = write(plan, Settings(builder=builder, installer="pip"))
    assert f'{option} "${{FLASH_ATTN_INDEX}}"' in text


@every_plan
@both_builders
@pytest.mark.parametrize("installer", ["pip", "uv"])
def test_each_build_is_pinned_in_the_step_of_its_own_index(plan, builder, installer, parsed):
    found = parsed(write(plan, Settings(builder=builder, installer=installer)))
    arguments = dict(rest.split("=", 1) for keyword, rest in found if keyword == "ARG" and "=" in rest)
    for build in plan.builds:
        step = next(
            rest
            for keyword, rest in found
            if keyword == "RUN" and f" {build.requirement}" in rest.replace("'", "") and "--constraint" in rest
        )
        named = re.findall(r'--(?:default-index|index-url|find-links) "\$\{(\w+)\}"', step)
        assert [arguments[name] for name in named] == ([build.index] if build.index else [])


@every_plan
def test_the_plan_is_a_label_that_reads_back(plan, parsed, unquoted):
    label = next(rest for keyword, rest in parsed(write(plan)) if keyword == "LABEL")
    document = json.loads(unquoted(label)["dev.envcheck.plan"])
    assert plans_module.load(document, "label").plan == replace(plan, choices=(), conditions=())


@every_plan
@both_builders
def test_the_installer_stays_out_of_the_last_stage(plan, builder, parsed):
    found = parsed(write(plan, Settings(builder=builder)))
    last = max(number for number, (keyword, _) in enumerate(found) if keyword == "FROM")
    steps = [rest for keyword, rest in found[last:] if keyword in {"RUN", "COPY"}]
    if builder == "classic":
        assert not any("pip" in step and "install " in step for step in steps)
    for step in steps:
        if "install --" in step or "pip install" in step:
            assert "type=bind,from=tools" in step


def test_the_same_plan_gives_the_same_bytes_in_another_process(tmp_path):
    script = (
        "import json, pathlib, sys\n"
        "from compat.dockerfile import Settings, write\n"
        "from compat.plan import load\n"
        "for path in sorted(pathlib.Path(sys.argv[1]).glob('*.json')):\n"
        "    print(write(load(json.loads(path.read_text()), 'x').plan, Settings(apt=('bb', 'aa'), env={'Z': '1', 'A': '2'})))\n"
    )
    folder = str(Path(__file__).parent / "plans")
    texts = {
        subprocess.run(
            [sys.executable, "-c", script, folder],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_wheels_that_bundle_cuda_get_the_driver_variables_and_only_those_capabilities(plan, parsed, unquoted):
    found = unquoted(next(rest for keyword, rest in parsed(write(plan)) if keyword == "ENV"))
    assert (found["NVIDIA_VISIBLE_DEVICES"], found["NVIDIA_DRIVER_CAPABILITIES"]) == ("all", "compute,utility")


@pytest.mark.parametrize("plan", ["jax_cpu", "torch_rocm", "torch_xpu"], indirect=True)
def test_images_without_cuda_ask_nothing_of_nvidias_runtime(plan):
    assert "NVIDIA_" not in write(plan)


@pytest.mark.parametrize(
    ("plan", "options"),
    [
        ("torch_cuda", "--gpus all"),
        ("torch_rocm", "--device /dev/kfd --device /dev/dri"),
        ("torch_xpu", "--device /dev/dri"),
        ("torch_jetson", "--runtime nvidia"),
        ("jax_cpu", "--network none"),
    ],
    indirect=["plan"],
)
def test_the_head_says_how_to_run_the_family(plan, options):
    assert f"docker run --rm {options}" in write(plan)


def test_who_runs_an_image_for_tpus_may_open_their_nodes_whoever_owns_them():
    known = matrix()
    plan = resolve(["jax[tpu]"], from_options(known, gpus=["TPU v5e"]), known).plan
    assert "docker run --rm --privileged --network host --user 0 IMAGE" in write(plan)
    assert yaml.safe_load(elsewhere.compose(plan, Settings()))["services"]["app"]["user"] == "0"
    assert "--user=0" in json.loads(elsewhere.devcontainer(plan, Settings()))["runArgs"]


def test_the_distributions_python_is_held_to_its_series(plan):
    assert "'python3.10=3.10.*'" in write(plan)


@pytest.mark.parametrize("plan", ["torch_uv"], indirect=True)
def test_uv_brings_python_from_a_stage_that_stays_behind(plan, parsed):
    found = parsed(write(plan))
    assert ("COPY", "--from=interpreter /opt/python /opt/python") in found
    assert not any("/usr/local/bin/uv" in rest for _, rest in found[-12:])


@pytest.mark.parametrize(("package", "kept"), [("ffmpeg", False), ("libcudnn9-cuda-12", True)])
def test_nvidias_repository_goes_unless_something_is_taken_from_it(plan, package, kept):
    assert ("sources.list.d/cuda" not in write(plan, Settings(apt=(package,)))) is kept


@pytest.mark.parametrize("plan", ["torch_rocm"], indirect=True)
def test_trimming_keeps_the_planned_targets_and_the_one_they_borrow_from(plan):
    text = write(plan)
    assert all(f"'*{target}*'" in text for target in ("gfx90a", "gfx1031", "gfx1030"))
    assert "-delete" not in write(plan, Settings(trim=False))


def test_a_digest_takes_the_place_of_the_tag(plan):
    digest = "sha256:" + "0a" * 32
    assert f"ARG BASE=nvidia/cuda:11.8.0-base-ubuntu22.04@{digest}\n" in write(plan, Settings(digest=digest))


def test_a_lock_is_installed_by_hash_and_without_resolving(plan, parsed):
    step = next(rest for keyword, rest in parsed(write(plan, Settings(lock="lock.txt"))) if "--require-hashes" in rest)
    assert "--no-deps" in step
    assert "source=lock.txt" in step


@both_builders
@pytest.mark.parametrize("kind", ["lock", "requirements_file"])
def test_a_file_of_requirements_reaches_its_step_with_either_builder(plan, builder, parsed, kind):
    """BuildKit binds it for the one step; the classic builder has to copy it, and takes it away again or never ships it."""
    found = parsed(write(plan, Settings(builder=builder, **{kind: "needs.txt"})))
    at = next(n for n, (keyword, rest) in enumerate(found) if keyword == "RUN" and "--requirement /" in rest)
    path = found[at][1].partition("--requirement ")[2].split()[0]
    if builder == "buildkit":
        assert f"--mount=type=bind,source=needs.txt,target={path}" in found[at][1]
        assert not any(keyword == "COPY" and "needs.txt" in rest for keyword, rest in found)
    else:
        assert not any("--mount" in rest for _, rest in found)
        copied = next(rest for keyword, rest in found[:at] if keyword == "COPY" and "needs.txt" in rest)
        assert copied.split()[-1].strip('"]') == path
    assert ("--require-hashes" in found[at][1]) is (kind == "lock")


def test_compiling_happens_beside_the_image_for_the_planned_targets_only(plan, parsed):
    found = parsed(write(plan, Settings(compile=("flash-attn==2.5.8",))))
    assert ("ARG", "DEVEL=nvidia/cuda:11.8.0-devel-ubuntu22.04") in found
    assert ("ARG", 'TORCH_CUDA_ARCH_LIST="8.0"') in found
    last = [rest for keyword, rest in found if keyword == "FROM"][-1]
    assert last == "packages AS complete"
    (made,) = (
        rest for _, rest in found if "/opt/tools/bin/pip" in rest and " wheel " in rest and "--wheel-dir" in rest
    )
    assert "wheel --no-cache-dir" in made  # else pip takes what it built for another GPU


def test_a_planned_build_that_is_source_only_is_compiled_and_never_installed_from_the_index(plan, parsed):
    source = PlannedBuild(name="flash-attn", version="2.8.3.post2", module="flash_attn", compile=True)
    found = parsed(write(replace(plan, builds=(*plan.builds, source))))
    steps = [rest for keyword, rest in found if keyword == "RUN" and "flash-attn==2.8.3.post2" in rest]
    assert ("ARG", "DEVEL=nvidia/cuda:11.8.0-devel-ubuntu22.04") in found
    assert [" wheel " in rest for rest in steps if "constraints.txt" not in rest] == [True]


@pytest.mark.parametrize(
    ("name", "change", "wish"),
    [
        ("a python image has no toolkit beside it", {}, {"compile": ("x==1",)}),
        ("no device to compile for", {"gpus": ()}, {"compile": ("x==1",)}),
    ],
)
def test_compiling_is_refused_where_it_cannot_be_right(plans, name, change, wish):
    source = plans["jax_cpu"] if "python image" in name else plans["torch_cuda"]
    with pytest.raises(InputError):
        write(replace(source, **change), Settings(**wish))


def test_a_plan_without_containers_is_refused(plan):
    with pytest.raises(InputError, match="base image"):
        write(replace(plan, base_image=None))


def test_an_unknown_distribution_is_refused_by_name(plan):
    with pytest.raises(InputError, match="opensuse15"):
        write(replace(plan, base_image=replace(plan.base_image, os="opensuse15")))


def test_only_named_files_travel_to_the_engine():
    text = ignore_file(Settings(files=(("app", "/app/app"),), requirements_file="requirements.txt"))
    assert text.splitlines()[1:] == ["*", "!app", "!requirements.txt"]


@both_builders
def test_what_the_person_adds_is_there(plan, builder, parsed, unquoted):
    wish = Settings(
        builder=builder,
        requirements=("rich>=13",),
        apt=("ffmpeg",),
        files=(("app.py", "/app/app.py"),),
        env={"MODE": "fast"},
        labels={"team.name": "vision"},
        command=("python", "/app/app.py"),
        entrypoint=("tini", "--"),
        healthcheck=("python", "-c", "pass"),
        user=2000,
    )
    found = parsed(write(plan, wish))
    assert ("COPY", '--chown=2000:2000 ["app.py", "/app/app.py"]') in found
    assert ("CMD", '["python", "/app/app.py"]') in found
    assert ("ENTRYPOINT", '["tini", "--"]') in found
    assert ("HEALTHCHECK", 'CMD ["python", "-c", "pass"]') in found
    assert ("USER", "2000:2000") in found
    assert unquoted(next(rest for keyword, rest in found if keyword == "ENV"))["MODE"] == "fast"
    assert unquoted(next(rest for keyword, rest in found if keyword == "LABEL"))["team.name"] == "vision"
    assert any(keyword == "RUN" and "'rich>=13'" in rest for keyword, rest in found)
    assert any(keyword == "RUN" and " ffmpeg" in rest for keyword, rest in found)


def forward_plan():
    """A plan that runs by forward compatibility, from the shipped matrix."""
    from compat.matrix import matrix
    from compat.resolve import resolve
    from compat.resolve.target import from_options

    host = from_options(matrix(), gpus=["A100"], driver="535.104.05")
    return resolve(["torch==2.9.1+cu130"], host, matrix()).plan


def test_a_newer_driver_in_the_image_is_on_the_loaders_path_and_its_absence_stops_the_build():
    text = write(forward_plan())
    folder = "/usr/local/cuda-13.0/compat"
    assert f'LD_LIBRARY_PATH="{folder}:/usr/local/nvidia/lib:/usr/local/nvidia/lib64"' in text.replace("'", '"')
    assert f"{folder}/libcuda.so.1" in text
    assert "by forward compatibility" in text
    plain = replace(forward_plan(), driver=replace(forward_plan().driver, package=""), env=None)
    assert "libcuda.so.1" not in write(plain)
    assert "LD_LIBRARY_PATH" not in write(plain)


@pytest.mark.parametrize(
    ("os", "caches"), [("ubuntu22.04", {"/var/cache/apt", "/var/lib/apt/lists"}), ("rockylinux9", {"/var/cache/dnf"})]
)
def test_each_package_manager_keeps_its_own_downloads_between_builds(plan, parsed, os, caches):
    """apt's usual folder is emptied by the official images, so that its cache would be empty each time."""
    base = replace(plan.base_image, os=os, python_from="distribution")
    steps = [rest for keyword, rest in parsed(write(replace(plan, base_image=base))) if keyword == "RUN"]
    first = next(rest for rest in steps if " install -" in rest)
    assert set(re.findall(r"target=(\S+?),sharing=locked", first)) == caches
    assert ("archives=kept" in first) == (os != "rockylinux9")
    assert "dnf clean all" not in first
    plain = parsed(write(replace(plan, base_image=base), Settings(builder="classic")))
    first = next(rest for keyword, rest in plain if keyword == "RUN" and " install -" in rest)
    assert "kept" not in first
    assert ("dnf clean all" if os == "rockylinux9" else "rm -rf /var/lib/apt/lists/*") in first


def test_another_plan_finds_the_installer_in_the_build_cache(plan):
    """What stands before the constraints is the same for every plan on the same base and Python."""
    build = replace(plan.builds[0], version="9.9.9")
    one, other = (write(item).partition("FROM installer")[0] for item in (plan, replace(plan, builds=(build,))))
    body = [text.partition("ARG BASE=")[2] for text in (one, other)]
    assert body[0] == body[1] != ""


@pytest.mark.parametrize(
    ("name", "asked", "has"),
    [
        ("vllm", False, True),
        ("sglang", False, True),
        ("unsloth", False, True),
        ("torch", False, False),
        ("torch", True, True),
    ],
)
def test_what_cannot_start_without_a_compiler_gets_one(plan, parsed, name, asked, has):
    """It is told why, and a framework that runs without stays without."""
    base = replace(plan.base_image, os="ubuntu22.04", python_from="distribution")
    build = replace(plan.builds[0], name=name)
    text = write(replace(plan, base_image=base, builds=(build,)), Settings(compiler=asked))
    step = next(rest for keyword, rest in parsed(text) if keyword == "RUN" and " install -" in rest)
    assert (" gcc" in step, "-dev" in step) == (has, has)
    assert ("Triton compiles its launcher" in text) == has
