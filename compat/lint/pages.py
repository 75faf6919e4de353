"""The codes that lint alone gives, each a class with its page; codes shared with the doctor are documented there.

The modules beside this one check them: each yields findings of the codes that its functions name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from compat.rules.rule import Rule, family


class FileRule(Rule):
    """Base of the rules about files: they are checked over a stage or a service, not over the facts of a machine."""

    area = "files (lint)"


class BaseTagGone(FileRule):
    """The base image's tag cannot be pulled.

    The tag of each FROM and service against the tags that its maker removed, and against those it ever published where
    that list is known whole.

    Why: Docker cannot pull it: the build fails at its first line.
    Fix: Take a tag that exists.
    Sources:
        - https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/support-policy.md
        - https://hub.docker.com/r/nvidia/cuda/tags
    """


class BaseTagEol(FileRule):
    """The base image gets no rebuilds any more.

    The tag of each FROM and service against its maker's support policy, and its system against its end of support. It
    is an error where a step asks the system's own mirrors, and these have moved away.

    Why: Security fixes no longer reach it, and its maker may remove it.
    Fix: Move to a maintained tag of the same family.
    Sources:
        - https://gitlab.com/nvidia/container-images/cuda/-/blob/master/doc/support-policy.md
        - https://www.debian.org/releases/
        - https://ubuntu.com/about/release-cycle
    """

    severity = "warning"


class BaseAptKeyRotated(FileRule):
    """The base image trusts NVIDIA's old apt key, and a step reads NVIDIA's apt list.

    Images of before May 2022 that carry NVIDIA's apt list, where `apt-get update` runs before the list is removed or
    the key replaced.

    Why: NVIDIA changed its key on 27 April 2022: `apt-get update` stops with NO_PUBKEY A4B469963BF863CC.
    Fix: Take a newer base, or remove the list of NVIDIA's repository before the first `apt-get update`.
    Sources:
        - https://developer.nvidia.com/blog/updating-the-cuda-linux-gpg-repository-key/
    """


class AptListsMissing(FileRule):
    """apt has no lists of packages at this step.

    Steps of apt that install packages with no `apt-get update` before them, or after the lists were removed.

    Why: These images ship no lists: apt stops with "Unable to locate package".
    Fix: Write `apt-get update &&` before it, in the same RUN, and remove the lists behind the last install alone.
    Sources:
        - https://docs.docker.com/build/building/best-practices/#apt-get
    """


class SourceGone(FileRule):
    """What a step asks for is no longer served.

    Addresses of hosts that were switched off, machines of GitHub, packages that the base's system does not have, and
    names that no file of a wheel can have.

    Why: The step stops.
    Fix: Take what came in its place.
    Sources:
        - https://packages.debian.org/
        - https://github.blog/2021-09-01-improving-git-protocol-security-github/
    """


class BaseRuntimeMismatch(FileRule):
    """The framework takes CUDA, cuDNN or ROCm from the base, and the base has another one.

    Builds that bring no CUDA of their own, against the CUDA, cuDNN or ROCm of the base image.

    Why: A wheel that does not bring these libraries loads whatever the system has, or nothing.
    Fix: Take the base image of the framework's own runtime.
    Sources:
        - https://www.tensorflow.org/install/source#gpu
        - https://docs.jax.dev/en/latest/installation.html
    """


class BasePythonMissing(FileRule):
    """Python or pip is used before anything provides it.

    The first python or pip of a stage, where neither the base nor an earlier step brings one; and packages of a Python
    that the base's distribution does not have.

    Why: Images of CUDA and of distributions ship without Python: the first pip fails.
    Fix: Install Python first, or start from an image that has it.
    Sources:
        - https://hub.docker.com/r/nvidia/cuda
        - https://packages.ubuntu.com/
    """


class PythonExternallyManaged(FileRule):
    """pip may not install into the Python of this system.

    Steps of pip outside of a virtual environment, on a system that marks its Python as externally managed.

    Why: Debian 12, Ubuntu 23.04 and later leave it to apt: pip stops with "externally-managed-environment".
    Fix: Install into a virtual environment (python3 -m venv /opt/venv), or add --break-system-packages.
    Sources:
        - https://peps.python.org/pep-0668/
        - https://www.debian.org/releases/bookworm/amd64/release-notes/ch-information.en.html
    """


class DoubleCuda(FileRule):
    """CUDA is in the image twice.

    Wheels that bring their own CUDA, on a base that has the libraries too and where nothing uses those.

    Why: The libraries of the base image are never loaded, yet pulled and stored.
    Fix: Start from the `base` flavour, or from a plain image: the driver is mounted at run time.
    Sources:
        - https://hub.docker.com/r/nvidia/cuda
        - https://pytorch.org/get-started/locally/
    """

    severity = "warning"


class DevelInFinalStage(FileRule):
    """The compiler image is shipped although nothing in it is compiled.

    The last stage's base, where no step can compile anything. What a script does that is not at hand is not known.

    Why: The devel flavour adds gigabytes of headers and compilers.
    Fix: Compile in an earlier stage and copy the result, or use the runtime or base flavour.
    Sources:
        - https://hub.docker.com/r/nvidia/cuda
        - https://docs.docker.com/build/building/multi-stage/
    """

    severity = "warning"


class ExtraIndexShadowed(FileRule):
    """An extra index names a build that the default index overrides.

    Requests that pip can meet from the default index and from the extra one alike.

    Why: pip takes the highest version of all indexes: an unpinned name escapes to the default index's newer build.
    Fix: Make the index the only one for this step (`--index-url`), or pin the version with its local tag.
    Sources:
        - https://pip.pypa.io/en/stable/cli/pip_install/#finding-packages
    """


class IndexMissing(FileRule):
    """A local version is asked for without any index that has it.

    Pins with a local version (`+cu118`) against the indexes that the step names.

    Why: Local versions are not on the default index: the install fails.
    Fix: Name the index of that build.
    Sources:
        - https://packaging.python.org/en/latest/specifications/version-specifiers/#local-version-identifiers
        - https://pytorch.org/get-started/previous-versions/
    """


class AccidentalCpuWheel(FileRule):
    """The request falls back to a CPU build although a GPU is meant.

    The build that the installer takes, where the base image, the machine or an extra says GPU and nobody asked for a
    CPU build.

    Why: Nothing fails: the program just runs on the CPU.
    Fix: Ask for the GPU build by its extra, its index or its own package.
    Sources:
        - https://docs.jax.dev/en/latest/installation.html
        - https://pytorch.org/get-started/locally/
    """


class VersionDoesNotExist(FileRule):
    """The pinned version or variant does not exist where it is asked for.

    Pins against the indexes and channels whose releases the matrix knows whole. Where it does not, the answer is not
    known, and nothing is said.

    Why: The install fails, or falls back to something else.
    Fix: Pin a release that the index has.
    Sources:
        - https://pytorch.org/get-started/previous-versions/
    """


class RequirementUnreadable(FileRule):
    """A line is no requirement.

    Lines of requirements files, and words of `pip install`, that pip's own parser (packaging) refuses, and that are no
    option, path or address; short options that pip has not.

    Why: pip reads the whole file before it installs anything, and stops at the first such line.
    Fix: Write one requirement a line, with `==` for a version.
    Sources:
        - https://pip.pypa.io/en/stable/reference/requirements-file-format/
        - https://packaging.python.org/en/latest/specifications/dependency-specifiers/
    """


class RequirementUnquoted(FileRule):
    """A requirement holds a < or > that the shell takes for itself.

    Requirements of RUN steps and of a workflow's in which a `<` or `>` before a version stands outside quotes.

    Why: The shell reads a file for `<`, and pip does not run without it; for `>` it writes one, and pip sees no bound.
    Fix: Put the requirement into quotes.
    Sources:
        - https://pip.pypa.io/en/stable/reference/requirement-specifiers/
        - https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html
    """


class InstructionUnknown(FileRule):
    """A builder or a shell cannot read this line.

    The first word of each instruction, against those that Docker's builder knows; what stands before the first FROM; a
    COPY or ADD of one path; quotes of a RUN that nothing closes; the service of a development container, against those
    of its compose files; the first line of a batch script for Slurm.
    Templates and files with a frontend of their own are left alone.

    Why: The builder reads the whole file first, and stops at such a line before it runs any step; a shell stops at
    quotes that stay open.
    Fix: End the line above with a backslash if this one continues it; otherwise begin it with an instruction.
    Sources:
        - https://docs.docker.com/reference/dockerfile/
        - https://containers.dev/implementors/json_reference/
    """


class NightlyUnpinned(FileRule):
    """A moving nightly build is installed.

    Requests without a date that a nightly index or a nightly package meets.

    Why: Each build gives another result, and the index drops old nightlies.
    Fix: Pin a date, or take a release.
    Sources:
        - https://pip.pypa.io/en/stable/cli/pip_install/#pre-release-versions
        - https://pytorch.org/get-started/locally/
    """

    severity = "warning"


class PinMissing(FileRule):
    """A framework, a companion or a base tag is left to float.

    Requests without an upper bound that no other request settles, and tags that move.

    Why: Tomorrow's build is another one: versions that must match drift apart.
    Fix: Pin exact versions.
    Sources:
        - https://pip.pypa.io/en/stable/topics/repeatable-installs/
        - https://docs.docker.com/build/building/best-practices/#pin-base-image-versions
    """

    severity = "info"


class GpuQueryAtBuild(FileRule):
    """A build step asks for a GPU.

    RUN steps that call a GPU tool, or a framework's question for devices.

    Why: No device is visible while an image is built: the step fails, or bakes in a wrong answer.
    Fix: Ask at run time, or state what is wanted (TORCH_CUDA_ARCH_LIST, CONDA_OVERRIDE_CUDA).
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/docker-specialized.html
    """


class DevicesHardcoded(FileRule):
    """A fixed device index is written into the image or service.

    ENV, environment and device lists with a number or a UUID.

    Why: It hides the other devices, and is wrong on the next machine.
    Fix: Leave the choice to the person who runs it.
    Sources:
        - https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#env-vars
        - https://docs.docker.com/compose/how-tos/gpu-support/
    """

    severity = "warning"


class GpusTooFew(FileRule):
    """A program is given fewer GPUs than it is meant to use.

    Options of vLLM, SGLang and Text Generation Inference that divide a model among GPUs, against the number that the
    same service or container reserves. Servers that run on several machines are left alone. Directives of a batch
    script for a GPU that all stand where sbatch reads none.

    Why: The server counts the GPUs that it sees, and stops.
    Fix: Reserve as many GPUs as the option says, or lower the option.
    Sources:
        - https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html
        - https://slurm.schedmd.com/sbatch.html
        - https://docs.docker.com/compose/how-tos/gpu-support/
    """


class AptKeyDeprecated(FileRule):
    """apt-key is used.

    RUN steps that call apt-key.

    Why: It is deprecated, absent from current releases, and trusts the key for every repository.
    Fix: Store the key in /usr/share/keyrings and name it with signed-by.
    Sources:
        - https://manpages.debian.org/bookworm/apt/apt-key.8.en.html
    """

    severity = "warning"


class ContainerRuntimeInImage(FileRule):
    """Host software for GPU containers is installed inside an image.

    System packages of a stage: the NVIDIA Container Toolkit and its forerunners.

    Why: The container toolkit belongs to the host; inside an image it has no effect on GPU access.
    Fix: Remove it from the image and install it on the host.
    Sources:
        - https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html
    """

    severity = "warning"


class RootUser(FileRule):
    """The container runs as root.

    The last USER of the last stage.

    Why: A process that escapes, or a volume that is written to, does so as root.
    Fix: Set a numeric USER in the final stage.
    Sources:
        - https://docs.docker.com/build/building/best-practices/#user
    """

    severity = "info"


class RequiredMissing(FileRule):
    """What the gate requires is not there.

    The subjects of `doctor --require` and the number of GPUs of `--expect-gpus`, in the facts of the machine.

    Why: A machine on which nothing could be seen must not pass for one on which nothing is wrong.
    Fix: Mend what hides it, or leave it out of --require and --expect-gpus.
    Sources:
        - the facts of the machine that the finding names
    """


class WishUnsatisfiable(FileRule):
    """What was asked for cannot run on this machine.

    The requirements of `doctor REQ...`, resolved for the machine.

    Why: Some wishes, facts of the machine and rows of the matrix exclude each other.
    Fix: Follow one of the fixes; each was checked to work.
    Sources:
        - the rows of the matrix that the finding names
    """


RULES: Final[Mapping[str, type[Rule]]] = family(
    BaseTagGone, BaseTagEol, BaseAptKeyRotated, AptListsMissing, BaseRuntimeMismatch, BasePythonMissing,
    PythonExternallyManaged, DoubleCuda, DevelInFinalStage, ExtraIndexShadowed, IndexMissing, AccidentalCpuWheel,
    VersionDoesNotExist, NightlyUnpinned, SourceGone, RequirementUnreadable, RequirementUnquoted, InstructionUnknown,
    PinMissing, GpuQueryAtBuild, DevicesHardcoded, GpusTooFew, AptKeyDeprecated, ContainerRuntimeInImage, RootUser,
    RequiredMissing, WishUnsatisfiable,
)  # fmt: skip
