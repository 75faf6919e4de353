"""The measuring scripts against a small package index on loopback: what they record, and what they do not fetch."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("requests")
pytest.importorskip("packaging")

import gpu_code
import wheel_facts

BIG = 4 << 20


def test_a_release_is_recorded_with_its_wheels_pins_and_day(site, run, wheel):
    linux = wheel(["numpy<2", "nvidia-cudnn-cu12==9.1.0.70; platform_system == 'Linux'", "six", "rich; extra == 'tui'"])
    site.add(
        "demo-1.0-cp310-cp310-manylinux_2_28_x86_64.whl",
        linux,
        upload_time="2024-05-06T07:08:09Z",
        requires_python="&gt;=3.8",
    )
    site.add("demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", linux, upload_time="2024-05-07T07:08:09Z")
    site.add("demo-1.0-cp310-cp310-win_amd64.whl", wheel(["numpy<3"]))
    site.add("demo-1.0.tar.gz", b"")
    assert run("demo") == 0
    assert run.read() == {
        "1.0": {
            "date": "2024-05-06",
            "files": 4,
            "python": ">=3.8",
            "source": True,
            "wheels": [
                {
                    "for": {"linux_x86_64 2.28": "3.10 3.11"},
                    "requires": ["numpy<2", 'nvidia-cudnn-cu12==9.1.0.70; platform_system == "Linux"', "six"],
                },
                {"for": {"win_amd64": "3.10"}, "requires": ["numpy<3"]},
            ],
        }
    }


def test_a_second_run_with_nothing_new_changes_no_byte_and_fetches_only_the_page(site, run, wheel):
    site.add("demo-1.0-py3-none-any.whl", wheel())
    run("demo")
    before = run.path.read_bytes()
    stamp = run.path.stat().st_mtime_ns
    site.served.clear()
    run("demo")
    assert run.path.read_bytes() == before
    assert run.path.stat().st_mtime_ns == stamp
    assert set(site.served) == {"/simple/demo/"}


def test_a_new_release_adds_its_line_and_leaves_the_others(site, run, wheel):
    for version in ("1.9", "1.10"):
        site.add(f"demo-{version}-py3-none-any.whl", wheel())
    run("demo")
    before = run.path.read_text().splitlines()
    site.add("demo-1.11-py3-none-any.whl", wheel())
    run()  # without names: what is recorded
    after = run.path.read_text().splitlines()
    assert [line.rstrip(",") for line in before[:-1]] == [line.rstrip(",") for line in after[: len(before) - 1]]
    assert list(run.read()) == ["1.9", "1.10", "1.11"]


def test_metadata_inside_the_wheel_is_read_without_the_wheel(site, run, wheel):
    body = wheel(["torch==2.0.1"], {"demo/big.so": bytes(BIG)})
    site.add("demo-1.0-py3-none-any.whl", body, beside=False)
    run("demo")
    assert run.read()["1.0"]["wheels"][0]["requires"] == ["torch==2.0.1"]
    assert site.served["/files/demo-1.0-py3-none-any.whl"] < BIG


def test_what_a_torch_wheel_carries_is_read_from_its_members(site, run, wheel):
    members = {
        "torch/version.py": b"__version__ = '2.9.1'\ncuda: Optional[str] = '12.8'\n",
        "torch/lib/libtorch_python.so": b"\x7fELF\0sm_70 sm_120 compute_120\0tail",
        "torch/lib/libtorch_cuda.so": bytes(BIG),
    }
    site.add("demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl", wheel((), members))
    run("--kernels", "demo")
    carried = run.read()["1.0"]["carried"]["linux_x86_64"]
    assert (carried["cuda"], carried["targets"]) == ("12.8", "sm_70 sm_120 compute_120")
    assert site.served["/files/demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"] < BIG
    run("demo")  # a run that does not look keeps what was seen
    assert run.read()["1.0"]["carried"]["linux_x86_64"] == carried


@pytest.mark.parametrize(
    "text",
    [
        "build_info = collections.OrderedDict([('cuda_version', '11.8'), ('cudnn_version', '8'), ('cuda_compute_capabilities', ['sm_80', 'compute_90'])])",
        'build_info = {"cuda_compute_capabilities": ["sm_80", "compute_90"], "cuda_version": "11.8", "cudnn_version": "8"}',
    ],
)
def test_both_layouts_of_tensorflow_build_info_are_read(site, run, text, wheel):
    members = {"tensorflow/python/platform/build_info.py": text.encode()}
    site.add("demo-1.0-cp311-cp311-manylinux_2_17_x86_64.whl", wheel((), members))
    run("--kernels", "demo")
    carried = run.read()["1.0"]["carried"]["linux_x86_64"]
    assert (carried["cuda"], carried["cudnn"], carried["targets"]) == ("11.8", "8", "sm_80 sm_90 compute_90")


@pytest.mark.parametrize(
    ("images", "complete", "carried"),
    [
        (
            {"sm_70": 28, "sm_80": 46, "sm_87": 14, "compute_90": 14},
            True,
            {"targets": "sm_70 sm_80", "stray": "sm_87 compute_90"},
        ),
        ({"sm_80": 40, "sm_90": 40, "compute_90": 39, "lto_80": 9}, True, {"targets": "sm_80 sm_90 compute_90"}),
        ({"sm_80": 40, "sm_90": 40, "compute_90": 30}, True, {"targets": "sm_80 sm_90", "stray": "compute_90"}),
        ({"gfx90a": 3, "gfx11-generic": 3}, True, {"targets": "gfx90a gfx11-generic"}),
        (  # many kernels for one device alone do not make those for all others stray
            {"sm_75": 230, "sm_80": 278, "sm_86": 278, "sm_89": 278, "sm_90a": 569, "sm_120a": 287},
            True,
            {"targets": "sm_75 sm_80 sm_86 sm_89 sm_90a sm_120a"},
        ),
        ({"sm_80": 300, "sm_90a": 900}, True, {"targets": "sm_80 sm_90a"}),
        ({"sm_80": 300, "sm_90a": 18}, True, {"targets": "sm_80", "stray": "sm_90a"}),
        ({"sm_90a": 300, "sm_100a": 290, "sm_120a": 9}, True, {"targets": "sm_90a sm_100a", "stray": "sm_120a"}),
        ({"compute_70": 9}, True, {"targets": "compute_70"}),
        ({"sm_80": 40}, False, {}),  # something could not be read: an absence would be no fact
        ({}, True, {}),
    ],
)
def test_a_few_stray_kernels_do_not_make_a_build_serve_a_device(images, complete, carried):
    assert gpu_code.judge({"complete": complete, "objects": {"demo.so": images}}) == carried


@pytest.mark.parametrize(
    ("objects", "variants"),
    [
        (
            {"a/lib_cuda118.so": {"sm_50": 9, "sm_80": 9}, "a/lib_cuda130_nocublaslt.so": {"sm_80": 9, "sm_120": 9}},
            {"cuda11.8": "sm_50 sm_80", "cuda13.0": "sm_80 sm_120"},
        ),
        (
            {"lib_cuda128.so": {"sm_80": 9}, "lib_rocm62.so": {"gfx90a": 9}, "lib_cpu.so": {}},
            {"cuda12.8": "sm_80", "rocm6.2": "gfx90a"},
        ),
        (
            {"lib_rocm714.so": {"gfx1250": 9}, "lib_rocm72.so": {"gfx90a": 9}, "lib_rocm100.dll": {"gfx1200": 9}},
            {"rocm7.14": "gfx1250", "rocm7.2": "gfx90a", "rocm10.0": "gfx1200"},
        ),
        ({"lib_cuda118.so": {"sm_50": 9}, "another.so": {"sm_80": 9}}, None),  # both are loaded
        ({"lib_cuda118.so": {"sm_50": 9}}, None),
    ],
)
def test_libraries_of_which_one_is_loaded_are_told_apart(objects, variants):
    facts = gpu_code.judge({"complete": True, "objects": objects})
    assert facts.get("variants") == variants
    assert ("targets" in facts) is (variants is None)


def test_the_gpu_code_of_a_wheel_is_counted_once_and_judged_at_will(site, run, wheel):
    ptx = b".version 8.0\n.target sm_80\n.address_size 64\n"
    name = "demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    site.add(name, wheel((), {"demo/kernels.ptx": ptx, "demo/big.bin": bytes(BIG)}))
    run("--deep", "demo")
    carried = run.read()["1.0"]["carried"]
    floors = {"glibc": "-", "tag": "2.28"}
    assert carried == {
        "linux_x86_64": {"targets": "compute_80", "ptx_isa": "8.0", "deep": True, "file": name, **floors}
    }
    assert site.served[f"/files/{name}"] < BIG
    site.served.clear()
    run("--deep", "--again", "demo")
    assert run.read()["1.0"]["carried"] == carried
    assert set(site.served) == {"/simple/demo/"}


def test_withdrawn_releases_are_told_and_previews_recorded(site, run, wheel):
    site.add("demo-1.0-py3-none-any.whl", wheel(), yanked="broken")
    site.add("demo-1.1rc1-py3-none-any.whl", wheel())
    site.add("demo-1.1.post1-py3-none-any.whl", wheel())
    site.add("not a release", b"")
    run("demo")
    assert {version: release.get("yanked", False) for version, release in run.read().items()} == {
        "1.0": True,
        "1.1rc1": False,
        "1.1.post1": False,
    }


def test_an_unknown_package_is_said_and_writes_nothing(run, capsys):
    assert run("demo", "nothere") == 1
    assert "nothere" in capsys.readouterr().err
    assert not (run.path.parent / "nothere.json").exists()


def test_old_releases_can_be_left_as_they_were(site, run, wheel):
    site.add("demo-1.0-py3-none-any.whl", wheel(["numpy<2"]))
    run("demo")
    site.files["demo-1.0-py3-none-any.whl"] = b"gone"
    site.add("demo-2.0-py3-none-any.whl", wheel())
    run("--since", "2.0", "demo")
    assert list(run.read()) == ["1.0", "2.0"]
    assert run.read()["1.0"]["wheels"][0]["requires"] == ["numpy<2"]


@pytest.mark.parametrize(
    ("name", "platforms", "pythons"),
    [
        ("a-1-cp38-abi3-manylinux1_x86_64.whl", ["linux_x86_64 2.5"], {"3.8+"}),
        ("a-1-cp310-cp310-manylinux_2_17_aarch64.manylinux2014_aarch64.whl", ["linux_aarch64 2.17"], {"3.10"}),
        ("a-1-cp313-cp313t-macosx_11_0_arm64.whl", ["macosx_arm64 11.0"], {"3.13t"}),
        ("a-1-cp39-none-macosx_10_9_x86_64.whl", ["macosx_x86_64 10.9"], {"3.9"}),
        ("a-1-py3-none-any.whl", ["any"], {"3"}),
        ("a-1-py39-none-manylinux_2_28_x86_64.whl", ["linux_x86_64 2.28"], {"3.9+"}),
        ("a-1-cp27-cp27mu-manylinux2010_x86_64.whl", ["linux_x86_64 2.12"], {"2.7"}),
    ],
)
def test_wheel_names_tell_platform_floor_and_python(name, platforms, pythons):
    assert wheel_facts.platforms(name) == platforms
    assert wheel_facts.pythons(name) == pythons


def test_the_index_is_the_one_that_the_client_is_configured_for(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror.example/simple")
    from simple_index import configured_index

    assert configured_index() == "https://mirror.example/simple"


def test_a_wheel_whose_objects_hold_no_gpu_code_is_recorded_as_read(site, run, wheel):
    name = "demo-1.0-cp311-cp311-manylinux_2_28_x86_64.whl"
    library = Path("/bin/true").read_bytes() if Path("/bin/true").is_file() else b""
    site.add(name, wheel((), {"demo/plain.so": library}))
    run("--deep", "demo")
    assert run.read()["1.0"]["carried"]["linux_x86_64"]["targets"] == "-"


@pytest.mark.parametrize(
    ("needed", "names", "facts"),
    [
        (["libcudart.so.12", "libc10.so"], ["demo/_C.so"], {"needs": "libc10.so libcudart.so.12"}),
        (
            ["libcudart-d0da41ae.so.12"],
            ["demo.libs/libcudart-d0da41ae.so.12"],
            {"bundles": "libcudart.so.12"},
        ),
        (["libtorch.so"], ["demo/libtorch.so"], {}),
    ],
)
def test_libraries_are_told_apart_by_where_they_come_from(needed, names, facts):
    assert gpu_code.linked({"needed": needed}, names) == facts


def test_of_several_libraries_the_one_for_most_devices_tells_where_a_wheel_runs():
    objects = {"_C.so": {"sm_80": 20, "sm_90": 20, "sm_120": 20}, "fa3.so": {"sm_90a": 300, "sm_80": 300}}
    facts = gpu_code.judge({"complete": True, "objects": objects})
    assert facts == {"targets": "sm_80 sm_90 sm_120", "stray": "sm_90a"}


def test_a_small_library_for_every_device_does_not_tell_where_a_framework_runs():
    objects = {
        "core.so": {"sm_60": 600, "sm_70": 600, "sm_30": 1},
        "ctc.so": dict.fromkeys(("sm_30", "sm_60", "sm_70"), 2),
    }
    facts = gpu_code.judge({"complete": True, "objects": objects})
    assert facts == {"targets": "sm_60 sm_70", "stray": "sm_30"}


def test_libraries_of_others_in_a_wheel_do_not_count_beside_its_own():
    objects = {"demo/_C.so": {"sm_80": 6}, "demo.libs/libnvjpeg.so.12": {"sm_80": 11, "sm_89": 11}}
    assert gpu_code.judge({"complete": True, "objects": objects}) == {"targets": "sm_80"}


def test_a_wheel_that_could_not_be_read_whole_has_no_targets_and_is_not_empty():
    assert gpu_code.judge({"complete": False, "scanned": 3, "objects": {}}) == {}
    assert gpu_code.judge({"complete": True, "scanned": 3, "objects": {}}) == {"targets": "-"}


def test_an_extra_requires_what_others_of_its_package_do():
    text = """Metadata-Version: 2.1
Name: My_Serve
Requires-Dist: my-serve[runtime_common]; extra == "srt"
Requires-Dist: torchao==0.9.0; extra == "runtime-common"
Requires-Dist: torch==2.6.0; extra == "srt"
Requires-Dist: pytest==8.0; extra == "test"
"""
    assert wheel_facts.requirements(text) == ('torch==2.6.0; extra == "srt"', 'torchao==0.9.0; extra == "srt"')
