"""Each joint against what its makers publish, and the laws that hold for all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat.joints import (
    base,
    driver,
    kernels,
    libc,
    libraries,
    packages,
    platform,
    processor,
    python,
    releases,
    sureness,
    toolkit,
)
from compat.joints import build as builds
from compat.joints.releases import Release
from compat.joints.verdict import FITS, Clash, Fits, Unknown, all_of, any_of, clash_of, sure
from compat.markers import Environment
from compat.matrix import Matrix, matrix
from compat.matrix.rows import Build
from compat.resolve import resolve
from compat.resolve.target import from_options

MATRIX = matrix()
LINUX = Environment("linux_x86_64", "3.11")
WINDOWS = Environment("win_amd64", "3.11")
KINDS = {"fits": Fits, "clash": Clash, "unknown": Unknown}


def row(**given):
    fields = {"versions": ("1.0",), "runtime": "", "source": (), "how": "measured", "package": "thing"}
    return Build(**{**fields, **given})


# --- packages ---


@pytest.mark.parametrize(
    ("left", "right", "kind", "wants"),
    [
        (("torch", "2.7.0"), ("xformers", "0.0.32.post1"), "clash", "==2.8.0"),
        (("torch", "2.8.0"), ("xformers", "0.0.32.post1"), "fits", ""),
        (("torch", "2.8.0", (), "cuda"), ("triton", "3.3.0"), "clash", "==3.4.0"),
        (("torch", "2.5.0"), ("sglang", "0.5.7"), "clash", "==2.9.1"),
        (("torch", "2.5.1+cu118"), ("torchvision", "0.20.1+cu121"), "clash", ""),
        (("torch", "2.5.1"), ("torchvision", "0.20.1"), "fits", ""),
        (("torch", "2.5.1"), ("torchvision", "0.19.1"), "clash", "==2.4.1"),
        (("jax", "0.4.30"), ("jaxlib", "0.4.35"), "clash", "<=0.4.30,>=0.4.27"),
        (("torch", "2.5.1"), ("xformers", "0.0.9999"), "unknown", ""),
        (("torch", "2.5.1"), ("no-such-package", "1.0"), "unknown", ""),
    ],
)
def test_releases_that_belong_together_and_those_that_do_not(left, right, kind, wants):
    for one, other in ((left, right), (right, left)):
        found = releases.verdict(MATRIX, Release(*one), Release(*other), LINUX)
        assert isinstance(found, KINDS[kind]), found
        assert getattr(found, "wants", "") == wants


def test_a_clash_names_both_sides_and_cites_the_row_that_says_so():
    found = releases.verdict(MATRIX, Release("torch", "2.7.0"), Release("xformers", "0.0.32.post1"), LINUX)
    assert found.why == "xformers 0.0.32.post1 requires torch==2.8.0"
    assert [one.package for one in found.rows] == ["xformers"]


@pytest.mark.parametrize(
    ("marker", "world", "kind"),
    [
        ('sys_platform == "linux"', WINDOWS, "fits"),
        ('sys_platform == "win32"', WINDOWS, "clash"),
        ('sys_platform == "linux"', LINUX, "clash"),
        ('python_version < "3.9"', LINUX, "fits"),
        ('python_version < "3.9"', Environment("linux_x86_64", ""), "unknown"),
        ('extra == "dev"', LINUX, "fits"),
    ],
)
def test_what_a_machine_states_counts_in_its_own_environment(marker, world, kind):
    stated = Release("xformers", "0.0.9999", (f"torch==2.4.0; {marker}",))
    assert isinstance(releases.verdict(MATRIX, Release("torch", "2.5.1"), stated, world), KINDS[kind])


def test_ties_come_from_what_rows_require():
    assert releases.tied(MATRIX, Release("torch", "2.5.1"), Release("torchvision", "0.20.1"))
    assert releases.tied(MATRIX, Release("sglang", "0.5.7"), Release("torch", "2.5.1"))
    assert not releases.tied(MATRIX, Release("torch", "2.5.1"), Release("tensorflow", "2.15.0"))


def parts_of(left, right):
    return builds.part(MATRIX, left, left.package), builds.part(MATRIX, right, right.package)


def judged(left, right):
    return all_of(one.verdict for one in packages.disputes(MATRIX, *parts_of(left, right), LINUX))


REQUIRES = st.sampled_from(["", "lib<2", "lib>=2", "lib==1.5", "other==1.0", "other==1.1", "thing>1"])


@settings(max_examples=60, deadline=None)
@given(st.lists(REQUIRES, max_size=2), st.lists(REQUIRES, max_size=2))
def test_who_stands_left_decides_nothing(left, right):
    one = row(requires=tuple(filter(None, left)))
    other = row(package="other", requires=tuple(filter(None, right)))
    assert type(judged(one, other)) is type(judged(other, one))


@pytest.mark.parametrize(("how", "inferred"), [("inferred", ()), ("documented", ("requires",))])
def test_what_is_only_inferred_is_never_a_clash(how, inferred):
    asks = row(requires=("other==2.0",), how=how, inferred=inferred)
    found = judged(asks, row(package="other"))
    assert isinstance(found, Unknown)
    assert "thing 1.0 requires other==2.0" in found.why
    plain = judged(replace(asks, how="measured", inferred=()), row(package="other"))
    assert isinstance(plain, Clash)


NOTHING = {  # field that decides -> a row that asks for something, and the joint on a machine that has none of it
    "python": ({"python": ("3.11",)}, lambda one: python.verdict(one, "3.12")),
    "platforms": ({"platforms": ("linux_x86_64",)}, lambda one: platform.verdict(one, "win_amd64")),
    "glibc": ({"glibc": "2.28"}, lambda one: libc.verdict(one, "2.17")),
    "cpu": ({"cpu": ("avx",)}, lambda one: processor.verdict(one, frozenset())),
    "requires": ({"requires": ("other==2.0",)}, lambda one: judged(one, row(package="other"))),
}


@given(
    st.sampled_from(sorted(NOTHING)),
    st.sampled_from(["measured", "documented", "inferred"]),
    st.sets(st.sampled_from(sorted(NOTHING))),
)
def test_a_joint_is_never_surer_than_its_row(field, how, inferred):
    asks, judge = NOTHING[field]
    found = judge(row(how=how, inferred=tuple(inferred), **asks))
    weak = how == "inferred" or field in inferred
    assert type(found) is (Unknown if weak else Clash)
    assert clash_of(found) == clash_of(judge(row(how=how, inferred=tuple(inferred), **asks)))
    assert clash_of(found) is not None


def test_no_build_of_the_matrix_breaks_the_law_that_its_check_asks():
    assert not list(sureness.breaches(MATRIX))


def test_the_law_sees_a_joint_that_proves_by_a_guess(monkeypatch):
    guess = replace(next(one for one in MATRIX.builds("torch") if one.how == "inferred"), python=("3.11",))
    monkeypatch.setattr(sureness, "ASKED", (("python", lambda _, build: Clash("no", (build,))),))
    assert guess.version in {build.version for build, _ in sureness.breaches(MATRIX)}


@pytest.mark.parametrize(("index", "expected"), [("", Clash), ("pytorch", Unknown)])
def test_only_the_default_index_is_known_to_lack_a_place(index, expected):
    found = platform.verdict(row(platforms=("linux_x86_64",), index=index), "win_amd64")
    assert type(found) is expected
    assert clash_of(found) is not None
    asked = ["torch==2.14.1+rocm7.2" if index else "tensorflow==2.15.0"]
    answer = resolve(asked, from_options(MATRIX, gpus=["MI300X" if index else "A100"], os="windows"), MATRIX)
    assert [one.likely for one in answer.conflicts] == [bool(index)]


def test_the_law_sees_a_pin_that_is_inferred_under_a_name_that_no_judge_asks_for(monkeypatch):
    made = next(one for one in MATRIX.builds("sgl-kernel") if "requires" in one.inferred)
    monkeypatch.setattr(Matrix, "builds", lambda *_: [replace(made, inferred=("pins",))])
    assert {field for _, field in sureness.breaches(MATRIX)} == {"pins"}
    monkeypatch.setattr(Matrix, "builds", lambda *_: [made])
    assert not list(sureness.breaches(MATRIX))


# --- driver ---


@pytest.mark.parametrize(
    ("cuda", "version", "windows", "own", "expected"),
    [
        ("12.8", "570.124.06", False, "", FITS),
        ("12.8", "535.104.05", False, "", driver.MINOR),
        ("12.8", "520.61.05", False, "", ">=525.60.13"),
        ("12.8", "535.104.05", False, "545.23.06", ">=545.23.06"),
        ("12.8", "572.61", True, "", FITS),
        ("10.2", "418.39", False, "", ">=440.33"),
        ("99.9", "570.124.06", False, "", Unknown),
        ("12.4", "550.54.14", False, "", FITS),
        ("12.1", "470.57.02", False, "", ">=525.60.13"),
        ("13", "550.54.14", False, "", ">=580.65.06"),
        ("junk", "550.54.14", False, "", Unknown),
    ],
)
def test_what_cuda_a_driver_runs(cuda, version, windows, own, expected):
    found = driver.verdict(MATRIX, cuda, version, windows, own)
    if isinstance(expected, str):
        assert (type(found), found.wants) == (Clash, expected)
        assert version in found.why
    else:
        assert found == expected or type(found) is expected


@pytest.mark.parametrize(
    ("target", "version", "kind"),
    [
        ("sm_120", "550.54.15", "clash"),
        ("sm_120", "580.65.06", "fits"),
        ("sm_70", "580.65.06", "fits"),
        ("sm_70", "595.45.04", "clash"),
        ("sm_999", "580.65.06", "unknown"),
    ],
)
def test_which_gpus_a_driver_serves(target, version, kind):
    assert isinstance(driver.serves(MATRIX, target, version), KINDS[kind])


def test_minor_version_compatibility_compiles_no_ptx():
    assert driver.compiles(MATRIX, "12.8", "570.124.06")
    assert not driver.compiles(MATRIX, "12.8", "535.104.05")


@pytest.mark.parametrize(
    ("cuda", "reported", "expected"),
    [
        ("12.8", "12.8", FITS),
        ("12.2", "12.8", FITS),
        ("12.8", "12.2", driver.MINOR),
        ("13.0", "12.8", Clash),
        ("10.2", "10.1", Clash),  # minor-version compatibility began with CUDA 11
        ("99.1", "99.0", driver.MINOR),
        ("99.1", "12.8", Clash),
    ],
)
def test_a_driver_is_judged_by_the_cuda_that_it_reports_too(cuda, reported, expected):
    found = driver.by_cuda(MATRIX, cuda, reported)
    assert found == expected or type(found) is expected


@pytest.mark.parametrize(("compat", "own", "fits"), [("570.86", "550.54", True), ("550.54", "550.54", False)])
def test_a_libcuda_of_cuda_compat_must_be_newer_than_the_driver(compat, own, fits):
    assert (driver.stands_in(compat, own) == FITS) is fits


@pytest.mark.parametrize(
    ("have", "built", "wants"),
    [
        ("9.1.0", "9.1.0", ""),
        ("9.5.1", "9.1.0", ""),
        ("9.0.0", "9.1.0", ">=9.1.0"),
        ("8.9.7", "9.1.0", "==9.*"),
        ("9", "9.1.0", ""),
    ],
)
def test_one_cudnn_stands_in_for_another_of_its_major_that_is_no_newer(have, built, wants):
    assert getattr(libraries.stands_in(have, built), "wants", "") == wants


@pytest.mark.parametrize(
    ("cuda", "gcc", "limit", "kind", "wants"),
    [
        ("12.4", "13.2.0", "", "fits", ""),
        ("12.4", "14.1", "", "clash", "13"),
        ("12.4", "14.1", "14", "fits", ""),
        ("", "14.1", "12.2", "clash", "12"),
        ("", "14.1", "", "unknown", ""),
        ("12.4", "", "", "unknown", ""),
    ],
)
def test_which_host_compilers_a_toolkit_accepts(cuda, gcc, limit, kind, wants):
    found = toolkit.host_compiler(MATRIX, cuda, gcc, limit)
    assert isinstance(found, KINDS[kind])
    assert getattr(found, "wants", "") == wants


@pytest.mark.parametrize(("l4t", "kind"), [("36.4.3", "clash"), ("35.4.1", "fits"), ("", "unknown")])
def test_a_board_runs_the_cuda_of_its_system(l4t, kind):
    assert isinstance(driver.board(MATRIX, "11.4", l4t), KINDS[kind])


@pytest.mark.parametrize(
    ("rocm", "version", "kind"),
    [
        ("6.2.0", "5.0.2", "clash"),
        ("7.0.0", "30.10", "fits"),
        ("99.0", "30.10", "unknown"),
        ("7.0.0", "6.4.1", "unknown"),
    ],
)
def test_which_amd_drivers_a_rocm_release_accepts(rocm, version, kind):
    assert isinstance(driver.amdgpu(MATRIX, rocm, version), KINDS[kind])


# --- what one build needs ---


def test_a_minor_that_is_only_inferred_fixes_no_minor_of_the_system():
    torch = Release("torch", "2.8.0+cu129")
    assert isinstance(releases.verdict(MATRIX, torch, Release("cuda-python", "12.9.0"), LINUX), Fits)
    assert clash_of(releases.verdict(MATRIX, torch, Release("cuda-python", "13.0.0"), LINUX))
    seen = row(runtime="cuda11.2", cuda_from="system")
    assert builds.fixes_minor(seen)
    assert not builds.fixes_minor(replace(seen, inferred=("runtime",)))
    assert builds.fixes_minor(replace(seen, inferred=("runtime",), system=("cuda11.2",)))


@pytest.mark.parametrize(("cuda", "fits"), [("cuda12.1", True), ("cuda12.3", False)])
def test_a_build_that_names_no_library_of_the_system_finds_that_which_another_asks_for(cuda, fits):
    jax = next(one for one in builds.release(MATRIX, "jax", "0.4.18") if one.build.extras == ("cuda12-local",))
    plugin = row(runtime=cuda, cuda_from="system")
    assert packages.fits_runtime(jax, builds.part(MATRIX, plugin, "jax-cuda12-plugin"), twins=False) is fits


@pytest.mark.parametrize(
    ("compiled", "there", "wants"),
    [
        ("2.4", "2.4.1+cu121", ""),
        ("2.4.0+cu118", "2.4.1", ""),
        ("2.4", "2.5.0", "==2.4.*"),
        ("2.4.1", "1.4", "==2.4.*"),
    ],
)
def test_an_extension_loads_with_the_minor_that_it_was_compiled_against(compiled, there, wants):
    assert getattr(packages.loads(compiled, there), "wants", "") == wants


@pytest.mark.parametrize(
    ("system", "needs"),
    [(("cuda11", "cudnn8"), True), (("cuda11", "cudnn"), True), (("cuda12",), False)],
)
def test_which_builds_need_a_cudnn_of_the_system(system, needs):
    assert libraries.needs_cudnn(system) is needs


@pytest.mark.parametrize(
    ("vendor", "target", "fields", "expected"),
    [
        ("nvidia", "sm_89", {"runtime": "cuda12.1", "kernels": ("sm_80",)}, FITS),
        ("nvidia", "sm_89", {"runtime": "cuda12.1", "kernels": ("sm_75", "compute_75")}, kernels.PTX),
        ("nvidia", "sm_89", {"runtime": "cuda12.1", "kernels": ("sm_90",)}, Clash),
        ("nvidia", "sm_89", {"runtime": "cuda12.1"}, Unknown),
        ("nvidia", "sm_120", {"runtime": "cuda12.1"}, Clash),  # no toolkit of that time could make its code
        ("nvidia", "sm_87", {"runtime": "cuda12.1", "kernels": ("sm_80",)}, Clash),  # Jetson
        ("amd", "gfx1100", {"runtime": "rocm6.2", "kernels": ("gfx1100",)}, FITS),
        ("amd", "gfx1100", {"runtime": "cuda12.1", "kernels": ("sm_80",)}, Clash),
        ("amd", "gfx1100", {"runtime": "cpu"}, FITS),
        ("nvidia", "sm_70", {"kernels": ("sm_80",), "compiled": True}, Clash),
    ],
)
def test_how_a_gpu_runs_the_code_of_a_build(vendor, target, fields, expected):
    found = kernels.verdict(MATRIX, vendor, target, row(**fields))
    assert found == expected or type(found) is expected


class Published:
    """A matrix of one package."""

    def __init__(self, *rows):
        self.rows = rows

    def builds(self, _):
        return self.rows


def test_a_wheel_does_without_code_that_its_release_is_published_without_too():
    bound = row(kernels=("sm_90",), platforms=("linux_x86_64",))
    plain = row(kernels=("-",), platforms=("any",))
    assert kernels.is_spared(Published(bound, plain), bound)
    assert not kernels.is_spared(Published(bound), bound)
    assert not kernels.is_spared(Published(bound, plain), plain)


def test_a_wheel_is_for_its_pythons_its_place_its_libc_and_its_processor():
    one = row(python=("3.9", "3.10"), platforms=("linux_x86_64",), glibc="2.28", cpu=("avx",))
    assert python.verdict(one, "3.10.4") == FITS
    assert python.verdict(one, "3.11") == Clash("thing 1.0 has wheels for Python 3.9, 3.10", (one,), "3.9, 3.10")
    assert isinstance(python.verdict(one, ""), Unknown)
    assert platform.verdict(one, "linux_x86_64") == platform.verdict(one, "linux_") == FITS
    assert platform.verdict(one, "win_amd64").wants == "linux_x86_64"
    assert isinstance(platform.verdict(one, ""), Unknown)
    assert libc.verdict(one, "2.35") == FITS
    assert libc.verdict(one, "2.17").wants == ">=2.28"
    assert isinstance(libc.verdict(one, ""), Unknown)
    assert isinstance(libc.verdict(one, "", is_musl=True), Clash)
    assert processor.verdict(one, {"avx", "sse"}) == FITS
    assert processor.verdict(one, {"sse"}).wants == "avx"
    assert isinstance(processor.verdict(one, None), Unknown)


@pytest.mark.parametrize(
    ("system", "have", "kind"),
    [
        (("cuda12.1",), "12.1.1", "fits"),
        (("cuda12.1",), "12.4", "fits"),
        (("cuda12.1",), "12.0", "unknown"),
        (("cuda12",), "12.0", "fits"),
        (("cuda12.1",), "11.8", "clash"),
        (("cuda12.1",), "", "unknown"),
    ],
)
def test_cuda_of_the_system(system, have, kind):
    one = row(runtime="cuda12.1", cuda_from="system", system=system)
    assert isinstance(libraries.cuda(MATRIX, one, have), KINDS[kind])
    assert libraries.cuda(MATRIX, replace(one, cuda_from="packages"), have) == FITS


def test_cudnn_of_the_system_counts_by_its_major():
    one = row(runtime="cuda11.8", cuda_from="system", system=("cuda11.8", "cudnn8"), cudnn="8.6")
    assert libraries.cudnn(one, "8.9.2") == FITS
    assert libraries.cudnn(one, "9.1.0") == Clash(
        "thing 1.0 is built for cuDNN 8.6, from the system, which has 9.1.0", (one,), "8"
    )


def test_a_build_that_names_no_cudnn_asks_none_of_the_system():
    optional = row(runtime="cuda12.8", cuda_from="system", system=("cuda12",))
    assert libraries.cudnn(optional, "") == libraries.cudnn(optional, "9.1.0") == FITS
    asked = from_options(MATRIX, gpus=["A100"], driver="580.65.06", arch="x86_64")
    assert resolve(["ctranslate2==4.8.5"], asked, MATRIX).status == "plan"


@pytest.mark.parametrize(("cuda", "kind"), [("12.8", "fits"), ("12.6", "clash"), ("", "unknown"), ("12", "unknown")])
def test_a_toolkit_compiles_for_the_gpus_of_its_time(cuda, kind):
    assert isinstance(toolkit.verdict(MATRIX, cuda, "sm_120"), KINDS[kind])


@pytest.mark.parametrize(("have", "kind"), [("6.0", "fits"), ("6.0.2", "fits"), ("6.1", "clash"), ("", "unknown")])
def test_a_wheels_rocm_goes_with_that_of_the_system_where_both_are_of_one_release(have, kind):
    assert isinstance(libraries.rocm("torch 2.3.0+rocm6.0", "6.0", have), KINDS[kind])


@pytest.mark.parametrize(
    ("companion", "runtime", "kind"),
    [("torchvision", "cuda12.6", "fits"), ("torchvision", "cpu", "clash"), ("numpy", "cpu", "fits")],
)
def test_a_companion_of_one_index_is_of_its_frameworks_variant(companion, runtime, kind):
    assert isinstance(packages.one_variant(MATRIX, companion, "torch", runtime, "cuda12.6"), KINDS[kind])


@pytest.mark.parametrize(("cuda", "kind"), [("12.4", "fits"), ("11.8", "clash"), ("", "unknown")])
def test_a_toolkit_compiles_extensions_for_its_own_major(cuda, kind):
    assert isinstance(toolkit.extends("torch 2.7.0+cu128", "cuda12.8", cuda), KINDS[kind])


def test_an_image_starts_where_its_condition_holds():
    assert base.starts(MATRIX, "cuda>=12.4", "570.124.06", "", "sm_80") == FITS
    assert isinstance(base.starts(MATRIX, "cuda>=12.8", "535.104.05", "geforce", "sm_86"), Clash)


# --- verdicts together ---


def test_the_worst_of_all_and_the_best_of_any():
    clash, unknown = Clash("no"), Unknown("who knows")
    assert all_of([FITS, unknown, clash]) is clash
    assert all_of([FITS, unknown]) is unknown
    assert all_of([FITS, driver.MINOR]) == driver.MINOR
    assert any_of([clash, unknown, FITS]) == FITS
    assert any_of([clash, unknown]) is unknown
    assert isinstance(any_of([]), Unknown)
    assert sure(clash) is clash


def test_one_wheel_has_several_runtimes_and_no_second_wheel_s_pythons():
    rows = [row for row in MATRIX.builds("tensorflow") if row.distribution == "tensorflow-gpu"]
    old = next(
        row for row in rows if row.version == "1.13.2" and row.platforms == ("win_amd64",) and "3.6" in row.python
    )
    assert {python for row in builds.carried(MATRIX, old) for python in row.python} == {"3.5", "3.6"}
    several = max((builds.carried(MATRIX, row) for row in MATRIX.builds("bitsandbytes")), key=len)
    assert len({row.runtime for row in several}) > 3
