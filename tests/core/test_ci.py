"""Grids for CI systems: each format holds the same cells, carries their plans, and lets nothing out of a value."""

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

import compat
from compat import ci, plan, survey
from compat.errors import InputErrors

HOSTILE = "FROM a:1\nRUN echo \"${X}\" %{Y} 'z' ${{ secrets.T }}\n"


def cell(name="one", runtime="cuda12.8", arch="x86_64", **more):
    image = plan.BaseImage(image="ubuntu:22.04")
    made = plan.Plan(runtime=runtime, python="3.12", arch=arch, base_image=image, **more)
    return survey.Cell(name=name, requirements=("torch==2.9.1", "numpy<3"), plan=made, dockerfile=HOSTILE)


GRID = survey.Grid(
    (cell(), cell("two", "cpu", "aarch64")),
    (survey.Excluded("three", ("jax==0.1",), "no build for it"),),
)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("torch==2.9.1", "cuda12.6", "py3.11"), "torch-2-9-1-cuda12-6-py3-11"),
        (("Torch_Vision",), "torch-vision"),
        (("--a--",), "a"),
        (("é",), ""),
        (("a" * 99, "b"), "a" * 99),  # cut at 100 characters, and no dash is left at the end
        (("a" * 200,), "a" * 100),
    ],
)
def test_names_of_jobs(words, name):
    assert ci.slug(*words) == name


@given(st.lists(st.text(max_size=60), max_size=4))
def test_a_name_fits_tags_and_is_its_own_name(words):
    name = ci.slug(*words)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")
    assert len(name) <= 100
    assert name == name.strip("-")
    assert ci.slug(name) == name


@pytest.mark.parametrize(
    ("arch", "platform"), [("x86_64", "linux/amd64"), ("aarch64", "linux/arm64"), ("ppc64le", "linux/ppc64le")]
)
def test_architectures_have_dockers_names(arch, platform):
    assert cell(arch=arch).platform == platform


@pytest.mark.parametrize(("runtime", "gpu"), [("cuda12.8", True), ("rocm6.4", True), ("cpu", False)])
def test_only_a_cpu_cell_needs_no_gpu(runtime, gpu):
    assert cell(runtime=runtime).needs_gpu is gpu


def test_the_document_has_every_cell_with_its_whole_plan_and_every_reason():
    document = json.loads(ci.document(GRID))
    assert document["schema"] == "envcheck.ci/1"
    assert [item["name"] for item in document["cells"]] == ["one", "two"]
    assert document["cells"][1] | {"plan": None} == {
        "name": "two",
        "requirements": "torch==2.9.1 numpy<3",
        "runtime": "cpu",
        "python": "3.12",
        "platform": "linux/arm64",
        "base_image": "ubuntu:22.04",
        "gpu": False,
        "plan": None,
    }
    for item, made in zip(document["cells"], GRID.cells, strict=True):
        assert plan.load(item["plan"], "p").plan == made.plan
    assert document["excluded"] == [{"name": "three", "requirements": ["jax==0.1"], "why": "no build for it"}]


def test_a_github_matrix_is_one_line_whose_cells_carry_stored_plans():
    text = ci.github(GRID)
    assert text.count("\n") == 1
    rows = json.loads(text)["include"]
    assert [(row["name"], row["gpu"]) for row in rows] == [("one", True), ("two", False)]
    for row, made in zip(rows, GRID.cells, strict=True):
        assert plan.load(json.loads(row["plan"]), "p").plan == made.plan


JOBS = ci.Jobs(install=compat.SOURCE)
PUSHING = replace(JOBS, registry="ghcr.io/team/gpu", runner="gpu", attest=True, sign=True, scan=True)


def workflow(jobs=JOBS, grid=GRID):
    return yaml.safe_load(ci.pipeline(grid, "workflow", jobs)[ci.PIPELINES["workflow"]])


def gitlab(jobs=JOBS, grid=GRID):
    return yaml.safe_load(ci.pipeline(grid, "gitlab", jobs)[ci.PIPELINES["gitlab"]])


@pytest.mark.parametrize("format_", ci.PIPELINES)
def test_a_pipeline_stands_beside_the_plan_of_each_cell(format_):
    files = ci.pipeline(GRID, format_, JOBS)
    assert list(files) == [ci.PIPELINES[format_], "images/one.json", "images/two.json"]
    for made in GRID.cells:
        text = files[f"images/{made.name}.json"]
        assert plan.load(json.loads(text), "p").plan == made.plan
        assert max(map(len, text.splitlines())) < 200  # a diff of it can be read
    assert files[ci.PIPELINES[format_]].startswith(ci.HEAD)
    assert len(files[ci.PIPELINES[format_]].splitlines()) < 80


def test_what_is_no_word_of_a_pipeline_is_refused_with_its_key():
    for key, text in (
        ("registry", "ghcr.io/Team"),
        ("registry", "a/b; rm"),
        ("branch", "main'"),
        ("runner", "gpu }}"),
        ("schedule", "daily"),
    ):
        with pytest.raises(InputErrors, match=key):
            ci.check(replace(JOBS, **{key: text}), "p")
    for key in ("attest", "sign"):
        with pytest.raises(InputErrors, match=f"{key} without a registry"):
            ci.check(replace(JOBS, **{key: True}), "p")
    ci.check(PUSHING, "p")


def evaluated(value):
    """A workflow's value as GitHub gives it to a job, where only texts may be evaluated: no context, no function."""
    if isinstance(value, dict):
        return {key: evaluated(item) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    parts = re.split(r"(\$\{\{ '[^']*' \}\})", value)
    assert not any("${{" in part for part in parts[::2]), "an expression of somebody else"
    return "".join(part[5:-4] if place % 2 else part for place, part in enumerate(parts))


HOSTILE_WORDS = st.lists(
    st.sampled_from(
        ["$", "${{", "}}", " github.token ", "$CI_JOB_TOKEN", "${X}", "$$", "'", '"', "\\", "\n", "- run: x"]
    )
    | st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=3),
    max_size=8,
).map("".join)


@given(HOSTILE_WORDS, HOSTILE_WORDS)
@example("RTX 3090 ${{ github.token }} $CI_JOB_TOKEN", "torch; python_version == '${{ github.token }}'")
def test_no_value_is_evaluated_by_the_service_that_reads_it(name, requirement):
    device = plan.GpuVerdict(name=name, target="sm_86", kernels="native")
    made = cell(gpus=(device,))
    made = survey.Cell(name="one", requirements=(requirement,), plan=made.plan, dockerfile=HOSTILE)
    grid = survey.Grid((made,))
    for format_, place in ci.PIPELINES.items():
        plain = ci.pipeline(survey.Grid((cell(),)), format_, JOBS)
        assert ci.pipeline(grid, format_, JOBS)[place] == plain[place]  # nothing that people wrote stands in it
    jobs = replace(JOBS, install=name or "x")
    (step,) = [step["run"] for step in workflow(jobs, grid)["jobs"]["image"]["steps"] if "pip" in step.get("run", "")]
    assert shlex.split(evaluated(step)) == ["pip", "install", jobs.install]
    assert shlex.split(gitlab(jobs, grid)[".image"]["before_script"][1]) == ["pip", "install", jobs.install]
    assert hcl(ci.bake_hcl(grid)).keys() == {"one"}


def test_a_cell_that_nothing_can_verify_says_so():
    """A green job without a word would pass for a proof."""
    job = workflow()["jobs"]["image"]
    verify, skipped = (
        next(one for one in job["steps"] if one.get("name") == name) for name in ("verify", "not verified")
    )
    assert job["runs-on"] == "ubuntu-latest"
    assert (verify["if"], skipped["if"]) == ("${{ !matrix.gpu }}", "${{ matrix.gpu }}")
    assert "::warning" in skipped["run"]
    apart = gitlab()
    assert [apart[name]["extends"] for name in ("one", "two")] == [".gpu-image", ".image"]
    assert apart[".gpu-image"]["script"][-1].endswith("exit 3")
    assert apart[".gpu-image"]["allow_failure"] == {"exit_codes": 3}  # a warning


def test_a_runner_with_a_gpu_verifies_the_images_for_one():
    job = workflow(PUSHING)["jobs"]["image"]
    assert job["runs-on"] == "${{ matrix.gpu && 'gpu' || 'ubuntu-latest' }}"
    (verify,) = [step for step in job["steps"] if "verif" in step.get("name", "")]
    assert "if" not in verify
    apart = gitlab(PUSHING)[".gpu-image"]
    assert apart["tags"] == ["gpu"]
    assert "script" not in apart  # that of all images


def test_only_what_is_pushed_is_attested_and_has_the_rights():
    assert workflow()["permissions"] == {"contents": "read"}
    assert not any("push" in step.get("run", "") for step in workflow()["jobs"]["image"]["steps"])
    told = workflow(PUSHING)
    assert set(told["permissions"]) == {"contents", "packages", "attestations", "id-token"}
    steps = told["jobs"]["image"]["steps"]
    place = next(place for place, step in enumerate(steps) if step.get("id") == "push")
    assert "refs/heads/main" in steps[place]["if"]
    proofs = [step for step in steps if "attest" in step.get("uses", "") or "sbom" in step.get("uses", "")]
    proofs += [step for step in steps if "cosign" in str(step)]
    assert len(proofs) == 4
    assert all(steps.index(step) > place and "steps.push.outputs.digest" in step["if"] for step in proofs)


def test_a_signature_alone_wants_the_identity_and_a_scan_comes_before_the_push():
    told = workflow(replace(PUSHING, attest=False))
    assert set(told["permissions"]) == {"contents", "packages", "id-token"}
    steps = told["jobs"]["image"]["steps"]
    names = [step.get("id") or step.get("uses", "").partition("@")[0] or step.get("name") for step in steps]
    assert names.index("anchore/scan-action") < names.index("push") < names.index("sign")
    (scan,) = [step for step in steps if "scan-action" in step.get("uses", "")]
    assert (scan["with"]["image"], scan["with"]["severity-cutoff"]) == ("${{ env.IMAGE }}", "critical")


def test_a_workflow_installs_this_very_release_and_no_namesake():
    steps = workflow()["jobs"]["image"]["steps"]
    installs = [step["run"] for step in steps if "pip install" in step.get("run", "")]
    assert installs == [f"pip install envcheck-gpu=={compat.__version__}"]


def test_the_name_that_is_installed_is_the_name_that_is_published():
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8")
    assert f'\nname = "{compat.DISTRIBUTION}"\n' in project


def test_a_bake_file_holds_dockerfiles_that_bake_leaves_as_they_are():
    document = json.loads(ci.bake(GRID))
    assert document["group"]["default"]["targets"] == list(document["target"]) == ["one", "two"]
    target = document["target"]["two"]
    assert (target["platforms"], target["tags"]) == (["linux/arm64"], ["${IMAGE}:two"])
    assert document["variable"]["IMAGE"]["default"] == "envcheck"
    inline = target["dockerfile-inline"]
    assert inline.replace("$${", "${").replace("%%{", "%{") == HOSTILE
    assert inline.count("$${") == 2
    assert inline.count("%%{") == 1


HCL_TARGET = re.compile(
    r'^target "([^"]*)" \{\n  platforms = ([^\n]*)\n  tags = ([^\n]*)\n'
    r'  dockerfile-inline = (?:<<(\w+)\n(.*?)^[ \t]*\4|"((?:[^"\\]|\\.)*)")\n\}$',
    re.MULTILINE | re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\"}


def hcl(text):
    """Target -> its attributes, by the HCL native syntax specification: strings, here-documents, escapes of templates."""
    targets = {}
    for name, platforms, tags, mark, document, quoted in HCL_TARGET.findall(text):
        assert not mark or mark not in map(str.strip, document.split("\n")), "it ends before its end"
        found = (
            document
            if mark
            else re.sub(r"\\(?:u(.{4})|(.))", lambda m: chr(int(m[1], 16)) if m[1] else ESCAPES[m[2]], quoted)
        )
        inline = re.sub(r"([$%])\1\{", r"\1{", found)
        targets[name] = {"dockerfile-inline": inline, "platforms": json.loads(platforms), "tags": json.loads(tags)}
    return targets


def test_hcl_holds_what_json_holds():
    text = ci.bake_hcl(GRID)
    document = json.loads(ci.bake(GRID))
    wanted = {name: {**row, "dockerfile-inline": HOSTILE} for name, row in document["target"].items()}
    assert hcl(text) == wanted
    assert 'variable "IMAGE" {\n  default = "envcheck"\n}' in text
    assert 'group "default" {\n  targets = ["one", "two"]\n}' in text
    assert "# torch==2.9.1 numpy<3 cuda12.8 Python 3.12\n" in text
    assert "FROM a:1\n" in text  # as lines, not as one long string


@given(
    st.lists(
        st.sampled_from(
            ["$", "%", "{", "}", "${", "%{", '"', "\\", "\n", "\nDOCKERFILE\n", " DOCKERFILE_\n", "}\n}", "<<", "#"]
        )
        | st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
        max_size=12,
    ).map("".join)
)
@example("FROM a\nDOCKERFILE\n")
@example("no end of line")
@example("\x08\x0c\r\x00")
def test_no_dockerfile_breaks_out_of_hcl(dockerfile):
    made = plan.Plan(runtime="cpu", python="3.12")
    text = ci.bake_hcl(survey.Grid((survey.Cell(name="one", requirements=("a",), plan=made, dockerfile=dockerfile),)))
    assert {name: row["dockerfile-inline"] for name, row in hcl(text).items()} == {"one": dockerfile}


def test_a_requirement_with_line_ends_stays_in_its_comment():
    made = plan.Plan(runtime="cpu", python="3.12")
    text = ci.bake_hcl(
        survey.Grid((survey.Cell(name="one", requirements=('a\ntarget "x" {', "\x85b"), plan=made, dockerfile=""),))
    )
    assert list(hcl(text)) == ["one"]
    assert [line for line in text.splitlines() if "target" in line][1:] == [
        '# a target "x" { b cpu Python 3.12',
        'target "one" {',
    ]


def test_a_cell_without_a_base_image_says_none():
    bare = plan.Plan(runtime="metal", python="3.12")
    grid = survey.Grid((survey.Cell(name="mac", requirements=(), plan=bare, dockerfile=""),))
    assert json.loads(ci.document(grid))["cells"][0]["base_image"] == ""


@pytest.mark.parametrize("format_", ci.FORMATS)
def test_every_format_names_every_cell(format_):
    pipeline = ci.pipeline(GRID, format_, JOBS)[ci.PIPELINES[format_]] if format_ in ci.PIPELINES else ""
    text = pipeline or ci.write(GRID, format_)
    assert all(item.name in text for item in GRID.cells)


WORKFLOWS = sorted((Path(__file__).parents[2] / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("text", [*(path.read_text("utf-8") for path in WORKFLOWS), yaml.safe_dump(workflow())])
def test_an_action_is_a_commit_and_a_job_has_the_least_rights(text):
    told = yaml.safe_load(text)
    assert told["permissions"] in ({}, {"contents": "read"})
    uses = [step["uses"] for job in told["jobs"].values() for step in job["steps"] if "uses" in step]
    assert uses
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", item) for item in uses)


def test_every_tool_of_ci_has_its_version_and_its_hash():
    lines = (Path(__file__).parents[2] / ".ci" / "requirements.txt").read_text("utf-8").split("\n")
    heads = [line for line in lines if line and line[0] not in " #"]
    assert all(re.match(r"[\w.\-]+==\S+", line) for line in heads)
    assert len(heads) > 50
    text = "\n".join(lines)
    assert all("--hash=sha256:" in part for part in re.split(r"\n(?=\w)", text.strip()))
