"""Single values as programs print them: what is taken, what is a placeholder, what a packed number means."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat import versions
from compat.reading import values
from compat.reading.page import Pair


def pair(label, value):
    return Pair(label=label, value=value, index=0, devices="", head=label, blank=False, page=None)


def claimed(reader, value, label="label"):
    return [(claim.fact, claim.value) for claim in reader(pair(label, value))]


@pytest.mark.parametrize(
    "text", ["N/A", " none ", "`None`", "Could not collect", "**unknown**", "<fill in>", '"-"', "No CUDA", ""]
)
def test_a_placeholder_is_no_value(text):
    assert values.empty(text)
    assert claimed(values.text("os"), text) == []
    assert claimed(values.number("driver"), text) == []
    assert claimed(values.env, text) == []


@pytest.mark.parametrize("text", ["0", "none of these", "12.8", "no-cuda-1.0", "nano"])
def test_what_only_begins_like_a_placeholder_is_a_value(text):
    assert not values.empty(text)


@pytest.mark.parametrize(
    ("text", "system"),
    [
        ("Ubuntu 22.04.3 LTS (x86_64)", {"os": "ubuntu22.04", "os_name": "Ubuntu 22.04.3 LTS", "arch": "x86_64"}),
        ("Ubuntu focal 20.04 aarch64", {"os": "ubuntu20.04", "os_name": "Ubuntu focal 20.04", "arch": "aarch64"}),
        ("Windows 11 (Pro) x64", {"os": "windows11", "os_name": "Windows 11 (Pro)", "arch": "x86_64"}),
        ("Debian GNU/Linux 12 (bookworm)", {"os": "debian12", "os_name": "Debian GNU/Linux 12 (bookworm)"}),
        ("arch=AMD64 cpu=AMD64 Family 23 system=Windows release=Windows-10-10.0.19045-SP0", {"arch": "x86_64"}),
        ("x86_64", {"os_name": "x86_64"}),  # an architecture alone is no system with one
    ],
)
def test_a_system_with_its_architecture(text, system):
    claims = {claim.fact: claim.value for claim in values.system_claims(text)}
    assert {name: claims.get(name) for name in ("os", "os_name", "arch") if name in claims} == system


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("535.104.05", "535.104.05"),
        ("release 12.8, V12.8.93", "12.8"),
        ("v1.2", "1.2"),
        ("r12.8", ""),  # part of a word
        ("x1.2.3", ""),
        ("12", ""),
        ("", ""),
    ],
)
def test_the_first_dotted_number(text, number):
    assert values.dotted(text) == number


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("2.0.1+cu118", "2.0.1+cu118"),
        ("v2.1.0a0+git1234", "2.1.0a0+git1234"),
        ("'1.13.1'", "1.13.1"),
        ("==2.0", "2.0"),
        ("2.4.0.dev20240501+cu121", "2.4.0.dev20240501+cu121"),
        ("1.0rc1", "1.0rc1"),
        ("2.0.1 (CPU)", "2.0.1"),
        ("2.0.", "2.0"),
        ("unknown", ""),
        ("", ""),
    ],
)
def test_the_version_of_a_package(text, version):
    assert values.package_version(text) == version


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("3.8.10 (default, Mar 15 2022) [GCC 9.4.0] (64-bit runtime)", "3.8.10"),
        ("3.12.7.final.0", "3.12.7"),
        ("v3.11", "3.11"),
        ("3.13.0rc2", "3.13.0rc2"),
        ("CPython-3.9", "3.9"),
        ("13.10", None),
        ("4.0", None),
        ("x" * 80 + " 3.10", None),  # too far behind to be the value
    ],
)
def test_the_python_of_a_line(text, python):
    assert claimed(values.python, text) == ([("python", python)] if python else [])


# NVIDIA packs a release of CUDA as thousands of the major and tens of the minor (cuda.h)
@given(st.integers(9, 20), st.integers(0, 9))
def test_packed_cuda_numbers_are_unpacked(major, minor):
    assert versions.unpacked_cuda(1000 * major + 10 * minor) == f"{major}.{minor}"
    assert claimed(values.packed("cuda"), str(1000 * major + 10 * minor)) == [("cuda", f"{major}.{minor}")]


# cudnn_version.h: 1000 * major + 100 * minor + patch up to 8, 10000 * major + ... from 9 on
@given(st.integers(5, 12), st.integers(0, 9), st.integers(0, 99))
def test_packed_cudnn_numbers_are_unpacked(major, minor, patch):
    packed = (10_000 if major >= 9 else 1_000) * major + 100 * minor + patch
    assert versions.unpacked_cudnn(packed) == f"{major}.{minor}.{patch}"
    assert claimed(values.cudnn_packed, str(packed)) == [("cudnn", f"{major}.{minor}.{patch}")]


@pytest.mark.parametrize(
    ("reader", "text", "claims"),
    [
        (values.packed("cuda"), "12.8", [("cuda", "12.8")]),
        (values.packed("cuda"), "12080 (12.8)", [("cuda", "12.8")]),
        (values.packed("cuda"), "1208", [("cuda", "1.20")]),
        (values.packed("cuda"), "none", []),
        (values.cudnn_packed, "8.9.2", [("cudnn", "8.9.2")]),
        (values.cudnn_packed, "8902", [("cudnn", "8.9.2")]),
        (values.cudnn_packed, "90100", [("cudnn", "9.1.0")]),
        (values.first("cuda"), "cuda_12.8.r12.8", [("cuda", "12.8")]),
        (values.first("cuda"), "0.0", []),
        (values.first("cuda"), "about 12.8", []),
        (values.hip_version, "6.3.42133-1b9c17779", [("hip", "6.3.42133")]),
        (values.hip_version, "0.0", []),
        (values.libc, "glibc-2.35", [("glibc", "2.35"), ("libc", "glibc")]),
        (values.libc, "glibc 2.27", [("glibc", "2.27"), ("libc", "glibc")]),
        (values.libc, "musl 1.2", [("libc", "musl")]),
        (values.libc, "N/A", []),
        (values.kernel, "Linux 5.15.0-91-generic", [("kernel", "5.15.0-91-generic"), ("platform", "linux")]),
        (
            values.kernel,
            "5.15.90.1-microsoft-standard-WSL2",
            [("kernel", "5.15.90.1-microsoft-standard-WSL2"), ("platform", "wsl2")],
        ),
        (values.kernel, "5.15.148-tegra", [("kernel", "5.15.148-tegra"), ("platform", "linux"), ("arch", "aarch64")]),
        (values.kernel, "Windows 10", []),
        (values.arch(), "amd64", [("arch", "x86_64")]),
        (values.arch(), "x86_64 64-bit", [("arch", "x86_64")]),
        (values.silent, "anything", []),
    ],
)
def test_what_each_reader_claims(reader, text, claims):
    assert claimed(reader, text) == claims


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Linux-5.15.0-134-generic-x86_64-with-glibc2.35",
            {"kernel": "5.15.0-134-generic", "platform": "linux", "arch": "x86_64", "glibc": "2.35"},
        ),
        ("macOS-14.5-arm64-arm-64bit", {"os": "macos14.5", "platform": "darwin", "arch": "arm64"}),
        ("Darwin-23.5.0-x86_64-i386-64bit", {"platform": "darwin", "kernel": "23.5.0", "arch": "x86_64"}),
        ("Windows-10-10.0.19045-SP0", {"platform": "windows", "os": "windows10"}),
        (
            "uname_result(system='Linux', release='6.8.0-45-generic', machine='aarch64')",
            {"kernel": "6.8.0-45-generic", "platform": "linux", "arch": "aarch64"},
        ),
        ("uname_result(system='Darwin', release='23', machine='arm64')", {"platform": "darwin", "arch": "arm64"}),
        ("something else", {}),
    ],
)
def test_the_platform_strings_of_python(text, expected):
    assert dict(claimed(values.platform_string, text)) == expected


def test_a_variable_is_claimed_under_its_name():
    (claim,) = values.env(pair("cuda_home set to", "/usr/local/cuda"))
    assert (claim.fact, claim.key, claim.value) == ("env", "CUDA_HOME", "/usr/local/cuda")


@pytest.mark.parametrize(
    ("kind", "text", "runtime"),
    [
        ("cuda", "10.1.243", "cuda10.1"),
        ("rocm", "6.2.41133-x", "rocm6.2"),
        ("cuda", " 12.8", "cuda12.8"),
        ("cuda", "None", None),
    ],
)
def test_a_build_serves_its_whole_minor_series(kind, text, runtime):
    claim = values.build_claim(kind, text)
    assert (claim and claim.value.runtime) == runtime
