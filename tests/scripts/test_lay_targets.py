"""Measured targets become rows: each release and platform by its own wheel, and nothing that a person stated is lost."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("requests")

import lay_targets

HEAD = 'schema = "envcheck.matrix/1"\n\n'
TAIL = '\n[sources]\ngpu-code = "GPU code of the wheels"\ns = "a source"\n'


def release(**targets):
    return {
        "carried": {
            platform: facts if isinstance(facts, dict) else {"targets": facts} for platform, facts in targets.items()
        }
    }


def row(versions, platforms="linux_x86_64", runtime="cuda12.8", source="s", how="documented", **more):
    more = {key: value for key, value in more.items() if value}
    cells = {"versions": versions, "runtime": runtime, "platforms": platforms, **more}
    order = [
        "versions",
        "runtime",
        "index",
        "python",
        "platforms",
        "glibc",
        "kernels",
        "distribution",
        "source",
        "how",
        "note",
    ]
    cells |= {"source": source, "how": how}
    return "{ " + ", ".join(f'{key} = "{cells[key]}"' for key in order if key in cells) + " }"


@pytest.fixture
def laid(tmp_path):
    """The rows that stand in the file afterwards."""

    def lay(rows, releases, *, name="demo", comment=""):
        (tmp_path / "observed").mkdir(exist_ok=True)
        (tmp_path / "observed" / f"{name}.json").write_text(json.dumps({"releases": releases}))
        body = "".join(f"  {line},\n" for line in rows)
        lay.path.write_text(f"{HEAD}builds.demo = [\n{comment}{body}]\n{TAIL}")
        lay.again()
        lines = lay.path.read_text().partition("builds.demo = [\n")[2].partition("]\n")[0].splitlines()
        return [line.strip().removesuffix(",") for line in lines]

    def again(*options):
        assert lay_targets.main(["demo", *options, "--matrix", str(tmp_path)]) == 0

    lay.path, lay.again = tmp_path / "demo.toml", again
    return lay


@pytest.mark.parametrize(
    ("before", "releases", "after"),
    [
        pytest.param(
            [row("1.0 1.1")],
            {"1.0": release(linux_x86_64="sm_80"), "1.1": release(linux_x86_64="sm_80")},
            [row("1.0 1.1", kernels="sm_80", source="s gpu-code")],
            id="what was not stated is laid in",
        ),
        pytest.param(
            [row("1.0 1.1 1.2")],
            {"1.0": release(linux_x86_64="sm_70"), "1.2": release(linux_x86_64="sm_80")},
            [
                row("1.0", kernels="sm_70", source="s gpu-code"),
                row("1.1"),
                row("1.2", kernels="sm_80", source="s gpu-code"),
            ],
            id="releases that differ part",
        ),
        pytest.param(
            [row("1.0", "linux_x86_64 win_amd64 linux_aarch64")],
            {"1.0": release(linux_x86_64="sm_80", linux_aarch64="sm_80", win_amd64="sm_75")},
            [
                row("1.0", "linux_x86_64 linux_aarch64", kernels="sm_80", source="s gpu-code"),
                row("1.0", "win_amd64", kernels="sm_75", source="s gpu-code"),
            ],
            id="platforms that differ part",
        ),
        pytest.param(
            [row("1.0", kernels="sm_90")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", kernels="sm_90")],
            id="what a person stated otherwise stays",
        ),
        pytest.param(
            [row("1.0", kernels="-")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", kernels="sm_80", source="s gpu-code")],
            id="none, where there are some, gives way",
        ),
        pytest.param(
            [row("1.0", kernels="sm_80", how="inferred", note="kernels as read in 1.1")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", kernels="sm_80", how="measured", source="s gpu-code")],
            id="a guess that is seen is a guess no more",
        ),
        pytest.param(
            [row("1.0 1.1", kernels="sm_80", how="inferred", note="kernels as read in 1.1")],
            {"1.0": release(linux_x86_64="sm_90a")},
            [
                row("1.0", kernels="sm_90a", how="measured", source="s gpu-code"),
                row("1.1", kernels="sm_80", how="inferred", note="kernels as read in 1.1"),
            ],
            id="a guess gives way to what was seen",
        ),
        pytest.param(
            [row("1.0", kernels="sm_80", how="inferred", note="CUDA is a guess")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", kernels="sm_80", how="inferred", note="CUDA is a guess")],
            id="a guess about something else stays one",
        ),
        pytest.param(
            [row("1.0", runtime="cuda11.8"), row("1.0", runtime="cuda13.0"), row("1.0", runtime="cuda9.0")],
            {
                "1.0": release(
                    linux_x86_64={"targets": "sm_80", "variants": {"cuda11.8": "sm_50", "cuda13.0": "sm_120"}}
                )
            },
            [
                row("1.0", runtime="cuda11.8", kernels="sm_50", how="measured", source="s gpu-code"),
                row("1.0", runtime="cuda13.0", kernels="sm_120", how="measured", source="s gpu-code"),
                row("1.0", runtime="cuda9.0"),
            ],
            id="a library for each runtime tells that of its row, and that it is there",
        ),
        pytest.param(
            [row("1.0 1.1", runtime="cuda11.8", how="inferred"), row("1.2", runtime="cuda11.8")],
            {
                "1.0": release(linux_x86_64={"variants": {"cuda11.8": "sm_50", "rocm7.2": "gfx942"}}),
                "1.1": release(linux_x86_64={"variants": {"cuda11.8": "sm_50", "rocm7.2": "gfx942"}}),
            },
            [
                row("1.0 1.1", runtime="cuda11.8", kernels="sm_50", source="s gpu-code", how="measured"),
                row("1.2", runtime="cuda11.8"),
                row("1.0 1.1", runtime="rocm7.2", kernels="gfx942", source="s gpu-code", how="measured"),
            ],
            id="a library that no row names gets one",
        ),
        pytest.param(
            [row("1.0", runtime="cpu"), row("1.0")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", runtime="cpu"), row("1.0", kernels="sm_80", source="s gpu-code")],
            id="the wheel of a release that is for a CPU was not the one looked into",
        ),
        pytest.param(
            [row("1.0", index="elsewhere")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", index="elsewhere")],
            id="the wheel of another index is another",
        ),
        pytest.param(
            [row("1.0", runtime="rocm7.0"), row("1.0", runtime="cann8.0")],
            {"1.0": release(linux_x86_64="sm_80")},
            [row("1.0", runtime="rocm7.0"), row("1.0", runtime="cann8.0")],
            id="code for one maker is none of a build for another",
        ),
    ],
)
def test_measured_targets_become_rows(laid, before, releases, after):
    assert laid(before, releases) == after


def test_rows_of_another_distribution_are_told_by_its_own_wheels(laid):
    before = [row("1.0", distribution="demo-cu12"), row("1.0")]
    assert laid(before, {"1.0": release(linux_x86_64="sm_80")}, name="demo-cu12") == [
        row("1.0", distribution="demo-cu12", kernels="sm_80", source="s gpu-code"),
        row("1.0"),
    ]


@pytest.mark.parametrize(("glibc", "after"), [("2.17", {}), ("2.28", {"kernels": "sm_80", "source": "s gpu-code"})])
def test_of_wheels_for_several_floors_only_the_one_that_was_read_is_told(laid, glibc, after):
    file = "demo-1.0-py3-none-manylinux_2_28_x86_64.whl"
    read = release(linux_x86_64={"targets": "sm_80", "file": file, "glibc": "2.27", "tag": "2.28"})
    releases = {"1.0": read | {"wheels": [{"for": {"linux_x86_64 2.17": "3"}}, {"for": {"linux_x86_64 2.28": "3"}}]}}
    assert laid([row("1.0", glibc=glibc)], releases) == [row("1.0", glibc=glibc, **after)]


def test_a_second_time_changes_nothing_and_comments_stay_above_their_row(laid):
    releases = {"1.0": release(linux_x86_64="sm_70"), "1.1": release(linux_x86_64="sm_80")}
    comment = "  # all of the first days\n"
    lines = laid([row("1.0 1.1"), row("2.0")], releases, comment=comment)
    assert lines[0] == "# all of the first days"
    text = laid.path.read_text()
    laid.again()
    assert laid.path.read_text() == text


def test_a_wheel_with_stray_kernels_is_for_a_person_to_look_at(laid):
    releases = {"1.0": release(linux_x86_64={"targets": "sm_80", "stray": "sm_90a"})}
    assert laid([row("1.0")], releases) == [row("1.0")]
    laid.again("--mixed")
    assert row("1.0", kernels="sm_80", source="s gpu-code") in laid.path.read_text()


def test_a_package_without_a_table_is_said(tmp_path, capsys):
    assert lay_targets.main(["nothere", "--matrix", str(tmp_path)]) == 1
    assert "nothere: no table" in capsys.readouterr().err
