"""CI files against the CI systems' own schemas, and the cells of this repository's own matrix."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from compat import ci, plan, survey

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["ci", "torch==2.9.1", "jax==0.6.2", "--runtime", "cpu", "--runtime", "cuda12.8", "--python", "3.12"]


def accepted(path, schema):
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)],
        capture_output=True,
        text=True,
    )
    return done.returncode == 0, done.stdout + done.stderr


CONFIGURED = """[tool.envcheck.ci]
install = "./wheels/envcheck ${{ x }}.whl"
registry = "registry.example:5000/team/gpu"
sign = true
scan = true
"""
BARE = """[tool.envcheck.ci]
install = "./wheels/envcheck ${{ x }}.whl"
runner = "gpu"
"""
REGISTRY, INSTALL = "registry.example:5000/team/gpu", "./wheels/envcheck ${{ x }}.whl"
GRID = survey.Grid(
    tuple(
        survey.Cell(name=f"n{number}", requirements=(), plan=plan.Plan(runtime=runtime, python="3.12"), dockerfile="")
        for number, runtime in enumerate(("cpu", "cuda12.8"))
    )
)
SCHEMAS = {"workflow": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci"}


@pytest.fixture
def repository(envcheck, tmp_path, monkeypatch, request):
    """A folder into which the pipeline of the format that the test names was written, for jobs of one kind or another."""
    folder = tmp_path / "repository"
    folder.mkdir()
    monkeypatch.chdir(folder)
    format_, told = request.param if isinstance(request.param, tuple) else (request.param, CONFIGURED)
    (folder / "pyproject.toml").write_text(told)
    code, out, said = envcheck(*WORDS, "--format", format_, "--output", ".")
    assert (code, out) == (0, "")
    assert f"written: {ci.PIPELINES[format_]}" in said
    return folder


@pytest.mark.parametrize("repository", SCHEMAS, indirect=True)
def test_a_whole_pipeline_is_what_its_system_reads(repository, request):
    pytest.importorskip("check_jsonschema")
    format_ = request.node.callspec.params["repository"]
    ok, said = accepted(repository / ci.PIPELINES[format_], SCHEMAS[format_])
    assert ok, said


def steps_of(folder, format_, runtime):
    """The shell steps for torch's cell of a runtime, with their variables, as the two systems would run them."""
    text = (folder / ci.PIPELINES[format_]).read_text()
    name = next(path.stem for path in (folder / "images").glob(f"torch*{runtime}*.json"))
    document = yaml.safe_load(text)
    if format_ == "gitlab":
        job, more = document[".image"], document[document[name]["extends"]]
        job = job | more | {"variables": job["variables"] | more.get("variables", {})}
        known = {"CI_JOB_NAME": name, "CI_COMMIT_BRANCH": "main", "CI_DEFAULT_BRANCH": "main"}
        known |= {"CI_REGISTRY": "registry.example", "CI_REGISTRY_IMAGE": "registry.example/team"}
        secret = {"REGISTRY_TOKEN": "t", "REGISTRY_ACCOUNT": "a", "CI_REGISTRY_PASSWORD": "t", "CI_REGISTRY_USER": "a"}
        own = {key: re.sub(r"\$(\w+)", lambda word: known[word[1]], text) for key, text in job["variables"].items()}
        return [*job["before_script"], *job["script"]], {**known, **own, **secret}
    job = document["jobs"]["image"]
    other = "${{ matrix.gpu }}" if runtime == "cpu" else "${{ !matrix.gpu }}"
    runs = [step for step in job["steps"] if "run" in step and step.get("if", "") != other]
    variables = {key: text.replace("${{ matrix.name }}", name) for key, text in job["env"].items()}
    scripts = [step["run"].replace("${{ '${{' }}", "${{") for step in runs]
    return scripts, {**variables, "ACCOUNT": "a", "TOKEN": "t", "DIGEST": "sha256:abc"}


# What stands in for the programs of a runner: each notes how it was called.
STAND_IN = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
case "$*" in *--password-stdin*) cat > "$CALLS.password" ;; inspect*) echo name@sha256:abc ;; *build*) cat > "$CALLS.file" ;; esac
"""
# The real program, up to the engine, which only verify talks to by its socket: that it finds none is what it then says.
ENVCHECK = """#!/bin/sh
echo "envcheck $*" >> "$CALLS"
{python} -m compat "$@" $OVERLAY; code=$?
if [ "$1" = verify ]; then test "$code" = 3; else exit "$code"; fi
"""


@pytest.fixture
def runner(tmp_path):
    """Runs shell steps in a folder with stand-ins for what a runner has; returns the exit codes and the calls."""
    programs, calls = tmp_path / "bin", tmp_path / "calls"
    programs.mkdir()
    for name in ("docker", "apt-get", "pip", "cosign"):
        (programs / name).write_text(STAND_IN)
    (programs / "envcheck").write_text(ENVCHECK.format(python=sys.executable))
    for path in programs.iterdir():
        path.chmod(0o755)
    files = {"CALLS": calls, "GITHUB_STEP_SUMMARY": tmp_path / "summary", "GITHUB_OUTPUT": tmp_path / "output"}

    def run(scripts, folder, **variables):
        own = {"PATH": f"{programs}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "DOCKER_HOST": "unix:///nowhere"}
        environment = {**os.environ, **variables, **own, **{key: str(path) for key, path in files.items()}}
        codes = []
        for script in scripts:
            words = ["bash", "-eo", "pipefail", "-c", script]
            done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
            codes.append(done.returncode)
            print(f"{script}: {done.stdout}{done.stderr}")
        return codes, calls.read_text().splitlines()

    return run


def shell_steps(text):
    """Every shell step of a pipeline, whoever runs it."""
    for job in yaml.safe_load(text).items():
        parts = job[1].values() if job[0] == "jobs" else [job[1]]
        for part in (part for part in parts if isinstance(part, dict)):
            yield from (step["run"] for step in part.get("steps", ()) if "run" in step)
            yield from (line for key in ("before_script", "script") for line in part.get(key, ()))


@pytest.mark.parametrize("format_", SCHEMAS)
def test_no_pipeline_has_a_shell_step_that_the_tests_below_do_not_run(format_):
    known = set()
    for jobs in (
        ci.Jobs(install=INSTALL, registry=REGISTRY, sign=True, scan=True),
        ci.Jobs(install=INSTALL, runner="gpu"),
    ):
        known |= set(shell_steps(ci.pipeline(GRID, format_, jobs, again=True)[ci.PIPELINES[format_]]))
    for registry, runner, signed, scan, again in itertools.product(("", REGISTRY), ("", "gpu"), *[(False, True)] * 3):
        kept = signed and bool(registry)
        jobs = ci.Jobs(install=INSTALL, registry=registry, runner=runner, attest=kept, sign=kept, scan=scan)
        assert set(shell_steps(ci.pipeline(GRID, format_, jobs, again=again)[ci.PIPELINES[format_]])) <= known


# Steps that are another's program: no host of theirs is reached from here, and each talks to a service of GitHub's.
NOT_RUN = {
    "actions/checkout": "fetches the repository from GitHub",
    "actions/setup-python": "fetches a Python from GitHub's releases",
    "actions/upload-artifact": "hands files to the service that runs the job",
    "actions/attest-build-provenance": "signs with the identity that GitHub gives the job",
    "anchore/scan-action": "fetches its scanner and a database of faults",
    "anchore/sbom-action": "fetches its scanner",
    "sigstore/cosign-installer": "fetches cosign from GitHub's releases; the step that calls it is run with a stand-in",
}


def test_the_steps_that_no_test_runs_are_those_that_are_named_with_the_reason():
    """Docker, apt-get, pip and cosign are stand-ins in the tests below; all other words of a shell step are the real ones."""
    jobs = ci.Jobs(install=INSTALL, registry=REGISTRY, attest=True, sign=True, scan=True)
    told = yaml.safe_load(ci.pipeline(GRID, "workflow", jobs, again=True)[ci.PIPELINES["workflow"]])
    steps = [step for job in told["jobs"].values() for step in job["steps"]]
    assert {step["uses"].partition("@")[0] for step in steps if "run" not in step} == set(NOT_RUN)


@pytest.mark.parametrize("runtime", ["cpu", "cuda12-8"])
@pytest.mark.parametrize("repository", [(name, BARE) for name in SCHEMAS], ids=SCHEMAS, indirect=True)
def test_jobs_with_a_runner_that_has_a_gpu_and_no_registry_verify_each_image(repository, request, runner, runtime):
    format_ = request.node.callspec.params["repository"][0]
    scripts, variables = steps_of(repository, format_, runtime)
    codes, told = runner(scripts, repository, **variables)
    assert set(codes) == {0}
    assert any(line.startswith(f"envcheck verify {variables['IMAGE']} --plan images/torch") for line in told)
    assert [line.partition(" --")[0] for line in told if re.match("docker (login|push)", line)] == (
        ["docker login registry.example", f"docker push {variables['IMAGE']}"] if format_ == "gitlab" else []
    )


@pytest.mark.parametrize("runtime", ["cpu", "cuda12-8"])
@pytest.mark.parametrize("repository", SCHEMAS, indirect=True)
def test_every_shell_step_of_a_pipeline_runs(repository, request, tmp_path, runner, runtime):
    format_ = request.node.callspec.params["repository"]
    scripts, variables = steps_of(repository, format_, runtime)
    codes, told = runner(scripts, repository, **variables)
    unproved = runtime != "cpu"
    assert codes == [0] * (len(codes) - 1) + [3 if unproved and format_ == "gitlab" else 0]
    assert any(line.startswith("pip install ./wheels/envcheck ${{ x }}.whl") for line in told)
    assert (tmp_path / "calls.password").read_text() == "t\n"
    image = variables["IMAGE"]
    assert any(
        re.match(rf"docker .*build.* --tag {re.escape(image)} .*--cache-from {re.escape(image)}", one) for one in told
    )
    assert re.search(
        "FROM nvidia/cuda|ARG BASE=nvidia|ubuntu" if unproved else "FROM python:3.12",
        (tmp_path / "calls.file").read_text(),
    )
    assert any(line.startswith("envcheck verify") for line in told) is not unproved
    assert f"docker push {image}" in told
    if format_ == "workflow":
        assert (tmp_path / "output").read_text() == "digest=sha256:abc\n"
        assert "cosign sign --yes registry.example:5000/team/gpu@sha256:abc" in told
        assert ("not verified" in (tmp_path / "summary").read_text()) is unproved


MOVED = """schema = "envcheck.matrix/1"
[sources]
ours = "Internal build, 2026"
[[builds.torch]]
versions = "2.9.1"
runtime = "cuda12.9"
variant = "cu129"
local = "acme1"
index = "pytorch"
python = "3.11"
platforms = "linux_x86_64"
glibc = "2.28"
kernels = "sm_80"
cuda_from = "wheel"
source = "ours"
how = "documented"
"""


@pytest.mark.parametrize("repository", SCHEMAS, indirect=True)
def test_a_matrix_that_moved_changes_each_plan_and_the_plans_start_the_pipeline(repository, request, envcheck):
    """Weekly by the clock, and by the files that a newer matrix writes: nobody has to compare two matrices."""
    format_ = request.node.callspec.params["repository"]
    before = {path: path.read_text() for path in repository.glob("images/*.json")}
    (repository / "own.toml").write_text(MOVED)
    again = [*WORDS, "--matrix", "own.toml", "--format", format_, "--output", "."]
    assert envcheck(*again)[0] == 0
    assert len(before) == 4
    assert all(path.read_text() != text for path, text in before.items())
    document = yaml.safe_load((repository / ci.PIPELINES[format_]).read_text())
    if format_ == "workflow":
        started = document[True]  # YAML 1.1 reads "on" so
        assert "images/**" in started["push"]["paths"]
        assert started["schedule"][0]["cron"].split()[2:] == ["*", "*", "1"]
    else:
        assert {"changes": ["images/*"]} in document[".image"]["rules"]


AXES = """[tool.envcheck.matrix]
frameworks = ["torch==2.9.1"]
runtime = ["cpu"]
"""


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("format_", SCHEMAS)
def test_a_newer_envcheck_that_plans_otherwise_is_told_by_the_clock(envcheck, tmp_path, monkeypatch, format_, runner):
    """The axes are the project's own, so a job can plan anew by itself; where they were typed it could not."""
    repository = tmp_path / "repository"
    repository.mkdir()
    monkeypatch.chdir(repository)
    (repository / "pyproject.toml").write_text(CONFIGURED + AXES)
    assert envcheck("ci", "--format", format_, "--output", ".")[0] == 0
    path = repository / ci.PIPELINES[format_]
    ok, said = accepted(path, SCHEMAS[format_])
    assert ok, said
    document = yaml.safe_load(path.read_text())
    if format_ == "workflow":
        job = document["jobs"]["plans"]
        assert "schedule" in job["if"]
        scripts = [step["run"].replace("${{ '${{' }}", "${{") for step in job["steps"] if "run" in step]
    else:
        assert "schedule" in document["plans"]["rules"][0]["if"]
        scripts = document["plans"]["script"]
    for words in (["init", "-q"], ["add", "."], ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "m"]):
        subprocess.run(["git", *words], check=True)
    assert set(runner(scripts, repository)[0]) == {0}
    (tmp_path / "own.toml").write_text(MOVED)
    codes, _ = runner(scripts, repository, OVERLAY=f"--matrix {tmp_path / 'own.toml'}")
    assert codes[-1] == 1
    path.unlink()
    assert envcheck(*WORDS, "--format", format_, "--output", ".")[0] == 0
    assert "plan anew" not in path.read_text()
    assert "plans:" not in path.read_text()


def test_our_own_images_follow_the_matrix_and_none_is_green_in_silence(tmp_path):
    document = yaml.safe_load((ROOT / ".github" / "workflows" / "images.yml").read_text())
    assert document[True]["push"] == {"branches": ["main"], "paths": ["matrix/**"]}
    steps = {step.get("name"): step for step in document["jobs"]["image"]["steps"]}
    assert steps["verify"]["if"] == "${{ !matrix.gpu || vars.GPU_RUNNER }}"
    assert steps["not verified"]["if"] == "${{ matrix.gpu && !vars.GPU_RUNNER }}"
    told = {"IMAGE": "envcheck:one", "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "PATH": os.environ["PATH"]}
    words = ["bash", "-eo", "pipefail", "-c", steps["not verified"]["run"]]
    done = subprocess.run(words, env=told, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("::warning title=not verified::envcheck:one")
    assert "not verified" in (tmp_path / "summary").read_text()


@pytest.mark.skipif(not shutil.which("zizmor"), reason="zizmor is not installed")
@pytest.mark.parametrize("repository", ["workflow"], indirect=True)
def test_an_auditor_of_workflows_finds_nothing(repository):
    folders = [repository / ".github" / "workflows", ROOT / ".github" / "workflows"]
    done = subprocess.run(["zizmor", "--offline", "--no-progress", *folders], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("format_", SCHEMAS)
def test_a_pipeline_without_a_folder_says_what_it_wants(envcheck, format_):
    code, out, said = envcheck(*WORDS, "--format", format_)
    assert (code, out) == (2, "")
    assert "--output ." in said


def test_a_file_of_somebody_else_stays(envcheck, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(CONFIGURED)
    mine = tmp_path / ci.PIPELINES["workflow"]
    mine.parent.mkdir(parents=True)
    mine.write_text("name: mine\n")
    code, _, said = envcheck(*WORDS, "--format", "workflow", "--output", ".")
    assert code == 2
    assert str(mine.relative_to(tmp_path)) in said
    assert mine.read_text() == "name: mine\n"
    assert not (tmp_path / "images").exists()
    mine.write_text(f"{ci.HEAD} long ago\n")
    assert envcheck(*WORDS, "--format", "workflow", "--output", ".")[0] == 0
    assert "jobs:" in mine.read_text()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("bogus = 1", "bogus"),
        ("attest = 'yes'", "true or false"),
        ("runner = 'a b'", "a label of runners"),
        ("registry = 3", "a text"),
    ],
)
def test_a_wrong_key_of_the_jobs_is_named(envcheck, tmp_path, monkeypatch, table, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(f"[tool.envcheck.ci]\n{table}\n")
    code, _, errors = envcheck(*WORDS, "--format", "workflow", "--output", ".")
    assert code == 2
    assert said in errors


def test_gpus_are_an_axis_and_the_newest_that_fits_a_value(envcheck):
    words = ["torch==2.9.1", "--runtime", "newest", "--runtime", "cpu", "--gpu", "A100", "--gpu", "P100,H100"]
    code, out, _ = envcheck("ci", *words, "--format", "json")
    assert code == 0
    cells = json.loads(out)["cells"]
    told = {row["name"]: (row["plan"]["runtime"], [gpu["target"] for gpu in row["plan"]["gpus"]]) for row in cells}
    assert list(told) == ["torch-2-9-1-a100", "torch-2-9-1-p100-h100", "torch-2-9-1-cpu"]
    assert told["torch-2-9-1-cpu"] == ("cpu", [])
    assert [targets for _, targets in told.values()] == [["sm_80"], ["sm_60", "sm_90"], []]
    newest, shared = (number(told[name][0]) for name in ("torch-2-9-1-a100", "torch-2-9-1-p100-h100"))
    assert newest > shared  # P100 has no place in the newest CUDA


def number(runtime):
    return [int(part) for part in runtime.removeprefix("cuda").split(".")]


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda path: path.name)
def test_our_own_workflows_are_valid(path):
    pytest.importorskip("check_jsonschema")
    ok, said = accepted(path, "vendor.github-workflows")
    assert ok, said


def test_every_cell_of_our_own_matrix_has_a_plan_to_replay(envcheck):
    code, out, _ = envcheck("ci", "--config", str(ROOT / "pyproject.toml"), "--format", "github")
    assert code == 0
    cells = json.loads(out)["include"]
    assert len(cells) >= 6
    assert "\n" not in out.strip()
    for cell in cells:
        stored = plan.load(json.loads(cell["plan"]), cell["name"]).plan
        assert stored.runtime == cell["runtime"]


def baker():
    """The words that start buildx: as the engine's plug-in, or the plug-in itself where the client does not know it."""
    places = ["/usr/libexec/docker/cli-plugins/docker-buildx", os.environ.get("ENVCHECK_BUILDX", "")]
    tries = [[shutil.which("docker") or "", "buildx"], *([path] for path in places)]
    for words in tries:
        if (
            words[0]
            and os.access(words[0], os.X_OK)
            and not subprocess.run([*words, "version"], capture_output=True).returncode
        ):
            return words
    pytest.skip("no docker buildx here")


def test_bake_prints_what_it_would_build_and_the_same_from_both_spellings(envcheck, tmp_path):
    words, printed = baker(), []
    for format_, name in (("bake", "bake.json"), ("bake-hcl", "docker-bake.hcl")):
        path = tmp_path / name
        code, said, _ = envcheck(*WORDS, "--format", format_, "--output", str(path))
        assert (code, said) == (0, "")
        done = subprocess.run([*words, "bake", "--print", "-f", str(path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        printed.append(json.loads(done.stdout))
    assert printed[0] == printed[1]
    assert len(printed[0]["target"]) >= 3
    # newer releases print what could be read again, with the mark of a variable doubled
    files = [target["dockerfile-inline"].replace("$${", "${") for target in printed[0]["target"].values()]
    assert all("FROM " in file for file in files)
    environment = os.environ | {"IMAGE": "registry.example/team/gpu"}
    named = subprocess.run(
        [*words, "bake", "--print", "-f", str(path)], capture_output=True, text=True, env=environment
    )
    tags = [tag for target in json.loads(named.stdout)["target"].values() for tag in target["tags"]]
    assert all(tag.startswith("registry.example/team/gpu:") for tag in tags)
