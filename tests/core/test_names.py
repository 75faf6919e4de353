import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.names import is_slip, normalise


@pytest.mark.parametrize(
    ("written", "plain"), [("Torch_Geometric", "torch-geometric"), ("a.-_b", "a-b"), ("numpy", "numpy")]
)
def test_names_compare_as_installers_compare_them(written, plain):
    assert normalise(written) == plain


@given(st.text(alphabet="abzABZ019._-", max_size=20))
def test_it_agrees_with_packaging(name):
    from packaging.utils import canonicalize_name

    assert normalise(name) == canonicalize_name(name)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("troch", "torch"),  # two letters changed
        ("tensorlfow", "tensorflow"),
        ("tensrflw", "tensorflow"),  # two missing of ten
        ("tensor-flow", "tensorflow"),
        ("torchh", "torch"),  # the last one twice
        ("jxa", "jax"),
        ("vlmm", "vllm"),
        ("onxruntime-gpu", "onnxruntime-gpu"),
    ],
)
def test_a_mistyped_name_is_a_slip(typed, known):
    assert is_slip(typed, known)


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("torchx", "torch"),  # an end of its own
        ("tensorflowjs", "tensorflow"),
        ("gpytorch", "pytorch"),  # another beginning
        ("torch-ema", "torch-xla"),  # words, each with its own
        ("faiss-cpu", "faiss-gpu"),
        ("flash-attn-4", "flash-attn"),
        ("torchtnt", "torchtext"),
        ("rax", "jax"),
        ("pycg", "pyg"),
        ("fastapi", "torch"),
    ],
)
def test_a_name_of_its_own_is_no_slip(name, known):
    assert not is_slip(name, known)
