"""The number in a library's name: whether the toolkit that is there has it."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("toolkit", "library", "other"),
    [
        ("11.2", "libcudart.so.11.0", False),  # one number for all of CUDA 11
        ("11.8", "libcufft.so.10", False),  # its own number, not the toolkit's
        ("12.4", "libcusolver.so.11", False),
        ("12.4", "libcurand.so.10", False),
        ("11.6", "libcudart.so.10.2", True),
        ("12.4", "libcublas.so.11", True),
        ("12.4", "libnvrtc.so.11.2", True),
    ],
)
def test_a_toolkit_has_other_numbers_where_no_library_of_it_has_that_name(doctor, toolkit, library, other):
    said = f"Could not load dynamic library '{library}'; dlerror: {library}: cannot open shared object file"
    first = doctor(error=said, cuda_toolkit=toolkit, libraries=[{"name": library}]).findings[0]
    assert first.code == "library-missing"
    assert ("whose libraries have other numbers" in first.detail) is other


def test_memory_of_the_host_that_runs_out_is_not_the_gpu_s(doctor):
    assert not doctor(error="clCreateCommandQueue(): CL_OUT_OF_HOST_MEMORY").findings
    assert (
        doctor(error="clEnqueueNDRangeKernel(): CL_MEM_OBJECT_ALLOCATION_FAILURE").findings[0].code == "out-of-memory"
    )


def test_other_causes_of_one_message_do_not_repeat_what_it_means(doctor):
    first, *others = doctor(error="torch.cuda.is_available() False").findings
    meaning = first.detail.split(". ")[0]
    assert others
    assert not any(meaning in one.detail for one in others)
