"""What second sources claim: one spelling, each with its source, and no row of the matrix may contradict one unseen."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import claims  # noqa: E402 - found through the line above
import crosscheck  # noqa: E402
import settlements  # noqa: E402

from compat.matrix import matrix  # noqa: E402

MATRIX = matrix()
CLAIMS = claims.load()
SPEAKING = [claim for claim in CLAIMS if claim.fields and claims.Comparison(MATRIX).rows(claim)][::7]
"""A seventh of the claims that are about a row of ours: comparing starts afresh for each example."""
OVERLAY = """\
schema = "envcheck.matrix/1"

{table} = [
  {{ {row}, source = "us", how = "documented" }},
]

[sources]
us = "Somebody"
"""


@pytest.fixture
def folder(tmp_path):
    """A folder of claims with one source: ``folder(name, header, *lines)`` writes a file."""
    (tmp_path / "sources.csv").write_text("source,address\ndoc,https://example.org (2026-01-01)\n", "utf-8")

    def write(name, *lines):
        (tmp_path / f"{name}.csv").write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return tmp_path

    return write


def compared(table, folder, *tables):
    return [str(found) for found in claims.Comparison(table).differences(claims.load(folder))]


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ("570.26", "570.26", True),
        ("570.26", "570.124.06", False),
        ("8.9.7.29", "8.9", True),  # less exactly said
        ("8.9", "8.9.7.29", True),
        ("8.9", "8.90", False),  # no prefix of letters, but of parts
        ("2022-10-03", "2022", True),
        ("2022-10-03", "2022-11", False),
        ("", "-", True),  # both say that there is none
        ("", "R470", False),
        ("R470", "-", False),
        (("sm_80", "sm_90"), "sm_90 sm_80", True),
        (("sm_80", "sm_90"), "sm_80", False),
        ((), "-", True),
        (24, "24", True),
        (1008.0, "1010", True),
        (448, "384", False),
        (True, "true", True),
        (False, "true", False),
    ],
)
def test_values_agree_as_far_as_both_are_exact(ours, theirs, same):
    assert claims.agree(ours, theirs) is same


def test_some_of_a_list_may_be_claimed():
    assert claims.agree(("3.9", "3.10"), "3.10", some=True)
    assert not claims.agree(("3.9", "3.10"), "3.10 3.11", some=True)


def test_every_claim_cites_a_source_with_an_address():
    known = claims.sources()
    assert {claim.source for claim in CLAIMS} == set(known)
    assert [name for name, address in known.items() if not address.strip()] == []


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("@cuda,gcc,source", "12.1.0,12,doc", "12.0.0,12,doc"), "canonical spelling"),
        (("@cuda,gcc,source", "12.0.0,12,doc", "12.0.0,12,doc"), "canonical spelling"),
        (("@cuda,gcc,source", '"12.0.0",12,doc'), "canonical spelling"),
        (("@cuda,gcc,source", "12.0.0,12,hearsay"), "cuda.csv:2: source 'hearsay' is not in sources.csv"),
    ],
)
def test_a_file_out_of_its_spelling_or_without_a_source_is_refused(folder, lines, said):
    with pytest.raises(ValueError, match=said):
        claims.load(folder("cuda", *lines))


def test_each_table_of_the_platform_has_second_sources_for_most_of_its_rows():
    beside = claims.Comparison(MATRIX)
    list(beside.differences(CLAIMS))
    reach = {table: len(compared.rows) / compared.total for table, compared in beside.reach.items()}
    assert {"cuda", "capabilities", "drivers", "cudnn", "nccl", "rocm", "gfx", "gpus", "images", "jetpack"} <= set(
        reach
    )
    assert {"builds.torch", "builds.torchvision", "builds.tensorflow", "builds.jax", "builds.jaxlib"} <= set(reach)
    assert [table for table in ("cuda", "capabilities", "drivers", "cudnn", "jetpack") if reach[table] < 0.9] == []


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SPEAKING), st.data())
def test_whichever_cell_a_source_tells_otherwise_is_reported(claim, data):
    name = data.draw(st.sampled_from(sorted(claim.fields)))
    number = claim.fields[name].replace(".", "", 1).isdigit() and name in {"memory_gib", "bandwidth_gbs"}
    other = claims.Claim(claim.table, claim.key, {name: "100000" if number else "nonsense"}, claim.source, claim.place)
    found = list(claims.Comparison(MATRIX).differences([other]))
    assert {item.field for item in found} == {name.partition(".")[0]}
    assert {item.source for item in found} == {claim.source}
    assert {item.version for item in found} == {claim.name}


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(SPEAKING))
def test_a_row_that_only_the_source_has_is_reported(claim):
    first = next(finder for finder, value in claim.key.items() if value)
    assume(first != "minor")
    other = claims.Claim(claim.table, {first: "never"}, {}, claim.source, claim.place)
    assert [(item.field, item.ours, item.theirs) for item in claims.Comparison(MATRIX).differences([other])] == [
        ("row", "", "there")
    ]


@pytest.mark.parametrize(
    ("table", "row", "said"),
    [
        (
            "cuda",
            'cuda = "12.8.0", driver_linux = "560.10", family_linux = "525.60.13", branch = "R560", gcc = "14"',
            "cuda 12.8.0: driver_linux: matrix 560.10, nv-notes 570.26",
        ),
        (
            "capabilities",
            'cc = "8.9", architecture = "Ada", first_cuda = "12.0"',
            "capabilities 8.9: first_cuda: matrix 12.0, ptxas 11.8",
        ),
        (
            "drivers",
            'branch = "R535", cuda = "12.1"',
            "drivers R535: cuda: matrix 12.1, eol-drivers 12.2",
        ),
        (
            "gpus",
            'name = "NVIDIA GeForce RTX 4090", vendor = "nvidia", target = "sm_86", pci = "10de:2684", memory_gib = 16',
            "gpus 10de:2684: target: matrix sm_86, pci-ids sm_89",
        ),
        (
            "jetpack",
            'jetpack = "6.2", l4t = "36.4.3", cuda = "12.4"',
            "jetpack 6.2 36.4.3: cuda: matrix 12.4, ",
        ),
    ],
)
def test_a_wrong_row_is_caught_by_the_source_that_knows_better(tmp_path, table, row, said):
    path = tmp_path / "wrong.toml"
    path.write_text(OVERLAY.format(table=table, row=row), "utf-8")
    wrong = list(claims.Comparison(matrix(path)).differences(CLAIMS))
    caught = [item for item in wrong if not settlements.settle(item, settlements.load())]
    assert [item for item in caught if str(item).startswith(said)], [str(item) for item in caught]


def test_pythons_of_a_release_are_those_of_all_its_rows(tmp_path, folder):
    """A release whose Pythons differ by row must not fail a source that names them together."""
    path = tmp_path / "two.toml"
    build = 'runtime = "cpu", platforms = "{}", index = "", versions = "98.0", python = "{}"'
    rows = 'source = "us", how = "documented" },\n  { '.join(
        build.format(platform, python).replace('index = "", ', "") + ", "
        for platform, python in (("linux_x86_64", "3.9"), ("linux_aarch64", "3.10"))
    )
    path.write_text(OVERLAY.format(table="builds.torch", row=rows.rstrip(", ")), "utf-8")
    found = compared(matrix(path), folder("builds.torch", "@version,python,source", "98.0,3.9 3.10,doc"))
    assert found == []


def test_a_settlement_needs_a_side_and_a_reason(tmp_path):
    path = tmp_path / "settled.json"
    path.write_text('[{"package": "cuda", "field": "gcc", "followed": "matrix"}]', "utf-8")
    with pytest.raises(ValueError, match="which side is followed and why"):
        settlements.load(path)


def test_each_disagreement_can_be_read_under_its_verdict(capsys):
    assert crosscheck.main(["cuda", "--each"]) == 0
    said = capsys.readouterr().out.splitlines()
    verdict = next(number for number, line in enumerate(said) if "x family_windows of cuda" in line)
    count = int(said[verdict].split(",")[1].split()[0])
    below = said[verdict + 1 : verdict + 1 + count]
    assert count > 1
    assert all(line.startswith("    cuda 12.") and "uv 528.33" in line for line in below)


def test_only_what_is_asked_for_is_compared(capsys):
    assert crosscheck.main(["cuda"]) == 0
    said = capsys.readouterr().out
    assert "cuda: 74 of 75 rows have a second source" in said
    assert "torch" not in said.replace("uv-torch", "")


def declared(package: str) -> dict[str, set[tuple[str, str]]]:
    """What the wheels of each release declare: release -> (name, specifier) pairs, as ``refresh.py`` read them."""
    document = ROOT / "matrix" / "observed" / f"{package}.json"
    releases = json.loads(document.read_text("utf-8"))["releases"] if document.exists() else {}
    return {
        release: {
            (canonicalize_name(line.name), str(line.specifier))
            for wheel in facts.get("wheels", ())
            for line in map(Requirement, wheel["requires"])
        }
        for release, facts in releases.items()
    }


@pytest.mark.parametrize("package", ["torch", "torchvision", "tensorflow", "paddlepaddle", "vllm"])
def test_an_upper_bound_that_wheels_do_not_declare_is_said_to_be_so(package: str) -> None:
    """Otherwise a plan leaves it to the installer, which does not know of it.

    TensorFlow 2.8.0 names a nightly build of the estimator by mistake; its row has what 2.8.1 has.
    """
    told = declared(package)
    own = [row for row in MATRIX.builds(package) if not row.distribution and row.version in told]
    measured = [row for row in own if row.how == "measured"]
    bounds = {(row.version, line, row.undeclared) for row in measured for line in row.requires if "<" in line}
    unsaid = []
    for release, text, silent in bounds:
        line = Requirement(text)
        excused = {*silent, *(("tensorflow-estimator",) if release == "2.8.0" else ())}
        if (canonicalize_name(line.name), str(line.specifier)) not in told[release] and line.name not in excused:
            unsaid.append((release, text))
    assert bounds
    assert not unsaid
