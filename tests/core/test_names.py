import pytest
from hypothesis import given
from hypothesis import strategies as st

from compat.names import normalise


@pytest.mark.parametrize(
    ("written", "plain"), [("Torch_Geometric", "torch-geometric"), ("a.-_b", "a-b"), ("numpy", "numpy")]
)
def test_names_compare_as_installers_compare_them(written, plain):
    assert normalise(written) == plain


@given(st.text(alphabet="abzABZ019._-", max_size=20))
def test_it_agrees_with_packaging(name):
    from packaging.utils import canonicalize_name

    assert normalise(name) == canonicalize_name(name)
