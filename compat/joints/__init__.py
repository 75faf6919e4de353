"""Do these two fit: every joint between two parts of an installation is judged here, and nowhere else.

One module per joint, each a few pure functions over matrix rows and plain values that answer with a
:class:`~compat.joints.verdict.Verdict`. The resolver searches over the verdicts, the doctor and lint tell them.

========== =========================================================================================
verdict    what a joint answers: fits, clashes because of these rows, or not known
build      a build of the matrix with what joins it to others, parsed once
driver     NVIDIA driver x CUDA, driver x GPU, cuda-compat, amdgpu x ROCm, Jetson system x CUDA
kernels    GPU x the code that a build carries
packages   build x build: requirements, runtimes, libraries of the system
releases   release x release: some build of one with some build of the other
python     Python x wheel
libc       C library x wheel
platform   operating system and processor x wheel
processor  processor features x build
libraries  CUDA and cuDNN of the system x build
toolkit    CUDA toolkit x the GPU it compiles for
base       base image x the driver it will meet
========== =========================================================================================
"""
