"""Every law on a matrix of a few rows: what one changed word breaks, told with its file, line, row, key and law.

``data/small_world.toml`` keeps all laws. Each case changes one place in it, and what the check then says must be just
this: the faults of that change, word by word, and no other.
"""

from pathlib import Path

import pytest

from compat.matrix.check import check
from compat.matrix.laws import LAWS

WORLD = (Path(__file__).parent / "data" / "small_world.toml").read_text("utf-8")


def faults(folder, text):
    """What the check says of a matrix of this text, the folder and spelling left out."""
    path = folder / "world.toml"
    path.write_text(text, "utf-8")
    told = [str(fault).replace(f"{path}:", "") for fault in check([path], beneath=[])]
    return [fault for fault in told if "canonical spelling" not in fault]


def test_the_small_matrix_keeps_every_law(tmp_path):
    assert faults(tmp_path, WORLD) == []


BROKEN = [
    ('branch = "R520", cuda = "11.8", first = "520.56.06", date = "2022-10-12"', 'branch = "R530", cuda = "12.1", first = "530.30.02", date = "2023-02-28"', ["26: cuda 11.8.0: branch R520 is not in drivers [driver-branch]; expected a branch of drivers", "34: drivers R530: key stands in 33 already [one-row-per-key]; expected one row"]),
    ('{ name = "torchvision"', '{ name = "torchvision", aliases = "torch"', ["5: packages torchvision: aliases stands in 4 already [one-row-per-key]; expected one row"]),
    ('{ gfx = "gfx1031"', '{ gfx = "gfx1030"', ["50: gfx gfx1030: key stands in 49 already [one-row-per-key]; expected one row", "58: rocm 5.7.0: targets lists gfx1030 [rocm-targets]; expected never official as in gfx", "59: rocm 6.0.0: targets lists gfx1030 [rocm-targets]; expected never official as in gfx"]),
    ('cuda11.8", variant = "cu118", index = "pytorch"', 'cuda11.8", variant = "cu118", index = "mirror"', ["13: builds.torch 2.1.0 cuda11.8: index mirror is not in indexes [names-exist]; expected a name of indexes"]),
    ("builds.torchvision", "builds.torchaudio", ["21: builds.torchaudio 0.16.0 cuda11.8: package torchaudio is not in packages [names-exist]; expected a name of packages", "22: builds.torchaudio 0.16.0 cuda12.1: package torchaudio is not in packages [names-exist]; expected a name of packages"]),
    ('gfx906 gfx1030", date = "2023-12-15"', 'gfx906 gfx1100", date = "2023-12-15"', ["15: builds.torch 2.1.2 rocm5.7: kernels gfx1100 is no known target [names-exist]; expected a target of capabilities, gfx or intel, or its variant", "15: builds.torch 2.1.2 rocm5.7: kernels has gfx1100 in a rocm5.7 build [kernels-possible]; expected what rocm5.7 can target"]),
    ('kernels = "sm_80 sm_90", date', 'kernels = "sm_80 sm_100", date', ["13: builds.torch 2.1.0 cuda11.8: kernels sm_100 is no known target [names-exist]; expected a target of capabilities, gfx or intel, or its variant", "13: builds.torch 2.1.0 cuda11.8: kernels has sm_100 in a cuda11.8 build [kernels-possible]; expected what cuda11.8 can target"]),
    ('runtime = "rocm5.7"', 'runtime = "rocm6.3"', ["15: builds.torch 2.1.2 rocm6.3: runtime rocm has no release 6.3 [names-exist]; expected a release of rocm"]),
    ('runtime = "rocm5.7"', 'runtime = "rocm5.7.2"', ["15: builds.torch 2.1.2 rocm5.7.2: runtime rocm has no release 5.7.2 [names-exist]; expected a release of rocm"]),
    ('follows = "torch"', 'follows = "tensorflow"', ["5: packages torchvision: follows tensorflow is not in packages [names-exist]; expected a name of packages"]),
    ('cudnn = "8.9", os = "ubuntu22.04"', 'cudnn = "8.9", os = "ubuntu24.04"', ["77: images nvidia/cuda 12.1.1-{flavour}-ubuntu22.04: os ubuntu24.04 is not in systems [names-exist]; expected a name of systems"]),
    ('cuda = "12.1.1", cudnn', 'cuda = "12.2.0", cudnn', ["77: images nvidia/cuda 12.1.1-{flavour}-ubuntu22.04: cuda 12.2.0 is not in cuda [names-exist]; expected a release of cuda"]),
    ('cudnn = "8.9"', 'cudnn = "8.8"', ["77: images nvidia/cuda 12.1.1-{flavour}-ubuntu22.04: cudnn 8.8 is not in cudnn [names-exist]; expected a version of cudnn, or the beginning of one"]),
    ('cudnn = "8.9"', 'cudnn = "9"', ["77: images nvidia/cuda 12.1.1-{flavour}-ubuntu22.04: cudnn 9 is not in cudnn [names-exist]; expected a version of cudnn, or the beginning of one"]),
    ('flavours = "base runtime", ', "", ["77: images nvidia/cuda 12.1.1-{flavour}-ubuntu22.04: flavours is missing [names-exist]; expected what {flavour} stands for"]),
    ('tag = "22.04"', 'tag = "22.04", flavours = "a"', ["76: images ubuntu 22.04: tag 22.04 has no {flavour} [names-exist]; expected a place for its flavours"]),
    ('require = "usual"', 'require = "cuda>=12.1"', ["72: requires usual: name usual is used by no row [reachable]; expected a row that names it", "77: images nvidia/cuda 12.1.1-{flavour}-ubuntu22.04: require cuda>=12.1 is not in requires [names-exist]; expected a name of requires"]),
    ('tag = "22.04", os', 'tag = "22.04", framework = "mxnet==1.9", os', ["76: images ubuntu 22.04: framework mxnet is not in packages [names-exist]; expected a name of packages"]),
    ('vendor = "intel", target = "dg2"', 'vendor = "intel", target = "pvc"', ["64: gpus Arc A770 intel: target pvc is not known [names-exist]; expected a target of capabilities, gfx or intel"]),
    ('target = "sm_80"', 'target = "sm_86"', ["63: gpus A100 nvidia: target sm_86 is not known [names-exist]; expected a target of capabilities, gfx or intel"]),
    ('runs = "dg2"', 'runs = "pvc"', ["54: intel dg2: runs lacks dg2 [names-exist]; expected the target itself among the code that it runs", "64: gpus Arc A770 intel: target dg2 is not known [names-exist]; expected a target of capabilities, gfx or intel"]),
    ('python = "3.10", pythons = "3.10"', 'python = "3.10", pythons = "3.11 3.12"', ["68: systems ubuntu22.04: pythons lacks 3.10 [names-exist]; expected its own python3 among those it packages"]),
    ('last_driver = "R470"', 'last_driver = "R390"', ["32: drivers R470: drops lacks Kepler [dropped-architectures]; expected R390 as the last that serves it", "42: capabilities 3.5: last_driver R390 is not in drivers [names-exist]; expected a name of drivers"]),
    ('os = "ubuntu22.04", linux', 'os = "ubuntu22.04 rhel9", linux', ["58: rocm 5.7.0: os rhel9 is not in systems [names-exist]; expected a name of systems"]),
    ('linux = "ubuntu22.04:5.15"', 'linux = "ubuntu22.04:5.15 rhel9.2:5.14"', ["58: rocm 5.7.0: linux rhel9.2 is not in its systems [names-exist]; expected one of ubuntu22.04"]),
    ('cuda = "11 12", first_cc = "8.0"', 'cuda = "11 13", first_cc = "8.0"', ["81: cudnn 8.9.2.26 11 13: cuda 13 is not in cuda [names-exist]; expected a major or minor of cuda"]),
    ('cuda = "11 12", first_cc = "8.0"', 'cuda = "10 11.8 12.2", first_cc = "8.0"', ["81: cudnn 8.9.2.26 10 11.8 12.2: cuda 12.2 is not in cuda [names-exist]; expected a major or minor of cuda"]),
    ('first_cc = "8.0"', 'first_cc = "8.9", last_cc = "9.0"', ["81: cudnn 8.9.2.26 11 12: first_cc 8.9 is not in capabilities [names-exist]; expected a name of capabilities"]),
    ('image = "ubuntu:22.04"', 'image = "ubuntu:24.04"', ["68: systems ubuntu22.04: image ubuntu:24.04 is not in images [images-exist]; expected a name of images"]),
    ("cuda>=12.1 brand", "cuda=>12.1 brand", ["72: requires usual: expression 'cuda=>12.1' is not a condition [requirement-grammar]; expected such as cuda>=12.4"]),
    ("brand=tesla", "brand>=tesla", ["72: requires usual: expression 'brand>=tesla' orders brands [requirement-grammar]; expected brand= or brand!="]),
    ("driver<471", "driver<new", ["72: requires usual: expression 'driver<new' names no version [requirement-grammar]; expected such as driver>=535"]),
    ('require = "usual", ', "", ["72: requires usual: name usual is used by no row [reachable]; expected a row that names it"]),
    ('{ name = "pytorch", url', '{ name = "mirror", url = "https://mirror.example/", source = "us", how = "measured" },\n  { name = "pytorch", url', ["9: indexes mirror: name mirror is used by no row [reachable]; expected a row that names it"]),
    ('{ name = "torchvision", ', '{ name = "jax", title = "JAX", kind = "framework", source = "us", how = "measured" },\n  { name = "torchvision", ', ["5: packages jax: name jax is used by no row [reachable]; expected a row that names it"]),
    ('driver_linux = "530.30.02", driver_windows = "531.14", family_linux = "525.60.13", branch = "R530", targets = "sm_80 sm_90 sm_90a", date = "2023-04-19"', 'driver_linux = "530.30.01", driver_windows = "531.13", family_linux = "525.60.13", branch = "R530", targets = "sm_80 sm_90 sm_90a", date = "2023-04-19"', ["28: cuda 12.1.1: driver_linux is 530.30.01 [driver-floors]; expected not below 530.30.02, stated by an earlier release", "28: cuda 12.1.1: driver_windows is 531.13 [driver-floors]; expected not below 531.14, stated by an earlier release"]),
    ('family_linux = "525.60.13", branch = "R530", targets = "sm_80 sm_90 sm_90a", date = "2023-04-19"', 'family_linux = "530.30.02", branch = "R530", targets = "sm_80 sm_90 sm_90a", date = "2023-04-19"', ["28: cuda 12.1.1: family_linux is 530.30.02 [family-floors]; expected 525.60.13 as CUDA 12.1.0"]),
    ('branch = "R520", targets', 'branch = "R525", targets', ["26: cuda 11.8.0: branch R525 is not in drivers [driver-branch]; expected a branch of drivers"]),
    ('branch = "R520", targets', 'branch = "R470", targets', ["26: cuda 11.8.0: branch R470 reports CUDA 11.4 [driver-branch]; expected a branch for 11.8.0", "26: cuda 11.8.0: driver_linux is 520.61.05 [driver-branch]; expected a version of R470"]),
    ('driver_linux = "520.61.05"', 'driver_linux = "521.61.05"', ["26: cuda 11.8.0: driver_linux is 521.61.05 [driver-branch]; expected a version of R520"]),
    ('branch = "R520", cuda = "11.8", first', 'branch = "R520", cuda = "11.3", first', ["26: cuda 11.8.0: branch R520 reports CUDA 11.3 [driver-branch]; expected a branch for 11.8.0", "33: drivers R520: cuda is 11.3 [branches]; expected not below 11.4, stated by an earlier release"]),
    ('date = "2023-02-28", drops', 'date = "2022-02", drops', ["34: drivers R530: date is 2022-02 [branches]; expected not below 2022-10-12, stated by an earlier release"]),
    ('first = "530.30.02"', 'first = "525.30.02"', ["34: drivers R530: first is 525.30.02 [branches]; expected a version of R530"]),
    ('latest = "470.256.02"', 'latest = "470.42"', ["32: drivers R470: latest is 470.42 [branches]; expected 470.42.01 or later"]),
    ('eol = "2024-09"', 'eol = "2021-05"', ["32: drivers R470: eol is 2021-05 [branches]; expected a day after 2021-06-22"]),
    ('cuda = "11.8", branches = "R470"', 'cuda = "11.7", branches = "R470"', ["38: forward 11.7: cuda is 11.7 [forward-branches]; expected a release of cuda"]),
    ('branches = "R470"', 'branches = "R470 R450"', ["38: forward 11.8: branches R450 is not in drivers [forward-branches]; expected a branch of drivers"]),
    ('branches = "R470"', 'branches = "R470 R520"', ["38: forward 11.8: branches R520 reports CUDA 11.8 [forward-branches]; expected one below 11.8"]),
    ('targets = "sm_80 sm_90 sm_90a", date = "2022-10-03"', 'targets = "sm_80", date = "2022-10-03"', ["13: builds.torch 2.1.0 cuda11.8: kernels has sm_90 in a cuda11.8 build [kernels-possible]; expected what cuda11.8 can target", "26: cuda 11.8.0: targets lacks sm_90 [capability-bounds]; expected 11.8 to now as in capabilities"]),
    ('targets = "sm_80 sm_90 sm_90a", date = "2022-10-03"', 'targets = "sm_35 sm_80 sm_90 sm_90a", date = "2022-10-03"', ["26: cuda 11.8.0: targets has sm_35 [capability-bounds]; expected 5.0 to 11.4 as in capabilities"]),
    ('targets = "sm_80 sm_90 sm_90a", date = "2022-10-03"', 'targets = "sm_80 sm_87 sm_90 sm_90a", date = "2022-10-03"', ["26: cuda 11.8.0: targets has sm_87 [capability-bounds]; expected a capability's target, or a variant of one listed here"]),
    ('drops = "Kepler", source = "us", how = "measured" },\n  { branch = "R530"', 'source = "us", how = "measured" },\n  { branch = "R530"', ["33: drivers R520: drops lacks Kepler [dropped-architectures]; expected R470 as the last that serves it"]),
    ('eol = "2024-09"', 'eol = "2024-09", drops = "Kepler"', ["32: drivers R470: drops names Kepler [dropped-architectures]; expected R470 as the last that serves it"]),
    ('drivers = "5.6 6.0", targets = "gfx1030"', 'drivers = "5.6 6.0", targets = "gfx906 gfx1030"', ["59: rocm 6.0.0: targets lists gfx906 [rocm-targets]; expected 2.0 to 5.7 as in gfx"]),
    ('drivers = "5.6 6.0", targets = "gfx1030"', 'drivers = "5.6 6.0", targets = "gfx1030 gfx1031"', ["59: rocm 6.0.0: targets lists gfx1031 [rocm-targets]; expected never official as in gfx"]),
    ('drivers = "5.6 6.0", targets = "gfx1030"', 'drivers = "5.6 6.0", targets = "gfx1030 gfx1100"', ["59: rocm 6.0.0: targets gfx1100 is not in gfx [rocm-targets]; expected a target of gfx"]),
    ('drivers = "5.6 6.0"', 'drivers = "6.1 6.0"', ["59: rocm 6.0.0: drivers is 6.1 6.0 [rocm-drivers]; expected the lowest, then the highest"]),
    ('drivers = "5.6 6.0"', 'drivers = "5.6 5.7 6.0"', ["59: rocm 6.0.0: drivers is 5.6 5.7 6.0 [rocm-drivers]; expected the lowest, then the highest"]),
    ('override = "10.3.0", ', "", ["50: gfx gfx1031: borrows is 'gfx1030' with override '' [gfx-override]; expected both or neither"]),
    ('borrows = "gfx1030"', 'borrows = "gfx1100"', ["50: gfx gfx1031: borrows gfx1100 is not in gfx [gfx-override]; expected a target of gfx"]),
    ('override = "10.3.0"', 'override = "10.3.1"', ["50: gfx gfx1031: override is 10.3.1 [gfx-override]; expected 10.3.0, the number of gfx1030"]),
    ('date = "2023-04-19"', 'date = "2023-02-27"', ["28: cuda 12.1.1: date is 2023-02-27 [toolkit-dates]; expected not below 2023-02-28, stated by an earlier release"]),
    ('targets = "gfx1030", date = "2023-12-15"', 'targets = "gfx1030", date = "2023-08"', ["59: rocm 6.0.0: date is 2023-08 [toolkit-dates]; expected not below 2023-09-15, stated by an earlier release"]),
    ('kernels = "sm_80 sm_90", date', 'kernels = "sm_80 sm_90 sm_100a", date', ["13: builds.torch 2.1.0 cuda11.8: kernels sm_100a is no known target [names-exist]; expected a target of capabilities, gfx or intel, or its variant", "13: builds.torch 2.1.0 cuda11.8: kernels has sm_100a in a cuda11.8 build [kernels-possible]; expected what cuda11.8 can target"]),
    ('kernels = "sm_80 sm_90", date', 'kernels = "sm_80 gfx906", date', ["13: builds.torch 2.1.0 cuda11.8: kernels has gfx906 in a cuda11.8 build [kernels-possible]; expected what cuda11.8 can target"]),
    ('kernels = "gfx906 gfx1030"', 'kernels = "gfx906 sm_80"', ["15: builds.torch 2.1.2 rocm5.7: kernels has sm_80 in a rocm5.7 build [kernels-possible]; expected what rocm5.7 can target"]),
    ('kernels = "sm_80 sm_90", date', 'kernels = "-", date', ["13: builds.torch 2.1.0 cuda11.8: kernels is - although no object was read [kernels-read]; expected the source gpu-code, or kernels among what is inferred"]),
    ('runtime = "cpu", python = "3.9 3.10", platforms = "linux_x86_64", date', 'runtime = "cpu", python = "3.9 3.10", platforms = "linux_x86_64", kernels = "sm_80", date', ["16: builds.torch 2.2.0 cpu: kernels has sm_80 in a cpu build [kernels-possible]; expected what cpu can target"]),
    ('versions = "2.3.0", runtime = "cpu", python = "3.9 3.10"', 'versions = "2.3.0", runtime = "cpu", python = "3.8 3.10"', ["17: builds.torch 2.3.0 cpu: python 3.8 is back [python-dropped]; expected none, as 2.2 dropped it"]),
    ('index = "pytorch", python = "3.8 3.9", platforms = "linux_x86_64", requires = ["torch==2.1.0"], source = "us", how = "measured" },\n]', 'index = "pytorch", python = "3.8 3.9", platforms = "linux_x86_64", requires = ["torch==2.1.1"], source = "us", how = "measured" },\n]', ["22: builds.torchvision 0.16.0 cuda12.1: requires pins torch==2.1.1 [companions]; expected a release in builds.torch"]),
    ('versions = "0.16.0", runtime = "cuda12.1"', 'versions = "0.16.0", runtime = "cpu"', ["14: builds.torch 2.1.0 cuda12.1: runtime is cuda12.1, for which pytorch has no torchvision [paired]; expected one of cpu cuda11.8, or a build of torchvision"]),
    ('versions = "0.16.0", runtime = "cuda12.1"', 'versions = "0.16.0", runtime = "cuda12"', ["22: builds.torchvision 0.16.0 cuda12: runtime is cuda12 [followed]; expected one of torch 2.1.0: cuda11.8 cuda12.1"]),
    ('date = "2023-12-15", source = "us", how = "measured" },\n  { versions = "2.2.0"', 'date = "2023-10-03", source = "us", how = "measured" },\n  { versions = "2.2.0"', ["15: builds.torch 2.1.2 rocm5.7: date is 2023-10-03 [build-dates]; expected not before 2023-10-04 of 2.1.0"]),
    ('runtime = "cpu", python = "3.9 3.10", platforms = "linux_x86_64", date', f'runtime = "cpu", python = "3.9 3.10", platforms = "linux_x86_64", sums = ["3.8={"0" * 64}"], date', ["16: builds.torch 2.2.0 cpu: sums are for 3.8 [file-sums]; expected one for a Python, of a row of one platform"]),
    ('pci = "10de:20b0", source = "us", how = "measured"', 'pci = "10de:20b0", source = "us", how = "measured", exempt = "names-exist", note = "why"', ["63: gpus A100 nvidia: exempt the row keeps names-exist [exemptions]; expected no exemption"]),
    ('target = "sm_80", pci = "10de:20b0", source = "us", how = "measured"', 'target = "sm_86", pci = "10de:20b0", source = "us", how = "measured", exempt = "names-exist"', ["63: gpus A100 nvidia: note is missing [exemptions]; expected why the law does not hold here"]),
]  # fmt: skip
"""What stands there, what takes its place, and every fault that the check then tells."""


@pytest.mark.parametrize(
    ("before", "after", "told"), BROKEN, ids=[told[0].partition(": ")[2][:60] for *_, told in BROKEN]
)
def test_a_change_that_breaks_a_law_is_told_and_nothing_else(tmp_path, before, after, told):
    assert WORLD.count(before) == 1
    assert faults(tmp_path, WORLD.replace(before, after)) == told


def test_every_law_is_broken_by_some_change():
    assert set(LAWS) == {law for *_, told in BROKEN for fault in told for law in LAWS if f"[{law}]" in fault}


KEPT = [
    ('flavours = "base runtime"', 'flavours = "base base2"'),
    ('pythons = "3.10"', 'aliases = "ubuntu22.04", pythons = "3.10"'),
    ('runtime = "rocm5.7"', 'runtime = "rocm4.2"'),
    ('date = "2023-02-28", drops', 'date = "2022-10", drops'),
    ('eol = "2024-09"', 'eol = "2021-06"'),
    ('targets = "sm_80 sm_90 sm_90a", date = "2022-10-03", ', 'date = "2022-10-03", '),
    ('stream = "classic", drivers = "5.6 6.0", targets = "gfx1030"', 'stream = "preview", drivers = "5.6 6.0", targets = "gfx906 gfx1030"'),
    ('drivers = "5.6 6.0"', 'drivers = "6.0.5 6.0"'),
    ('kernels = "sm_80 sm_90", date = "2023-10-04", source = "us", how = "measured"', 'kernels = "-", date = "2023-10-04", source = "us", how = "measured", inferred = "kernels"'),
    ('target = "sm_80", pci = "10de:20b0", source = "us", how = "measured"', 'target = "sm_86", pci = "10de:20b0", source = "us", how = "measured", exempt = "names-exist", note = "A card of the future"'),
]  # fmt: skip
"""Changes next to those above that break nothing: a coarser version, a date as far as it is known, what lies before."""


@pytest.mark.parametrize(("before", "after"), KEPT, ids=[after[:60] for _, after in KEPT])
def test_a_change_that_keeps_the_laws_is_not_told(tmp_path, before, after):
    assert WORLD.count(before) == 1
    assert faults(tmp_path, WORLD.replace(before, after)) == []


def test_an_exemption_from_no_law_is_told_with_those_there_are(tmp_path):
    row = 'pci = "10de:20b0", source = "us", how = "measured"'
    (told,) = faults(tmp_path, WORLD.replace(row, f'{row}, exempt = "gravity", note = "why"'))
    assert told == f"63: gpus A100 nvidia: exempt gravity is not a law [exemptions]; expected one of {', '.join(LAWS)}"
