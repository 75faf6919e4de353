"""JAX, whose every operation is compiled by XLA."""

from typing import Any, List

from array_checks import Adapter
from plan_checks import releases


class Jax(Adapter):
    """JAX behind the checks' adapter; 64-bit types are switched on so that float64 can be told from float32."""

    name = "jax"

    def version(self) -> str:
        """The version; turns 64-bit types on before anything is computed."""
        self.module.config.update("jax_enable_x64", True)
        return str(self.module.__version__)

    def runtime(self) -> str:
        """By the plugin that is installed; the backend would not say so without a device.

        JAX's GPU code comes as packages named after the runtime (``jax-cuda12-plugin``) since 0.4.2x, and as a local
        version tag of jaxlib before that.
        """
        found = releases()
        for name in ("cuda13", "cuda12", "rocm7", "rocm60", "rocm"):
            if "jax-%s-plugin" % name in found:
                return name.rstrip("0") if name == "rocm60" else name
        local = found.get("jaxlib", "").partition("+")[2]
        return local.split(".")[0] if local else "cpu"

    def devices(self) -> List[str]:
        """GPUs of the default backend; asking for ``gpu`` outright raises where there are none."""
        return [str(item.device_kind) for item in self.module.devices() if item.platform in ("gpu", "cuda", "rocm")]

    def cast(self, array: Any, format: str) -> Any:
        """On the first device of the chosen kind."""
        platform = "cpu" if self.device == "cpu" else None
        return self.module.device_put(array, self.module.devices(platform)[0]).astype(format)

    def get(self, tensor: Any) -> Any:
        """As float64 or an integer array."""
        import numpy

        values = numpy.asarray(tensor)
        return values if values.dtype.kind in "iu" else values.astype("float64")

    def place(self, tensor: Any) -> str:
        """The platform of the device that holds it."""
        held = tensor.devices() if callable(getattr(tensor, "devices", None)) else {tensor.device()}
        return "cpu" if next(iter(held)).platform == "cpu" else "gpu"

    def matmul(self, left: Any, right: Any) -> Any:
        """HIGHEST keeps float32 from becoming TF32."""
        return self.module.numpy.matmul(left, right, precision=self.module.lax.Precision.HIGHEST)

    def convolution(self, image: Any, weight: Any) -> Any:
        """NHWC and HWIO, as the checks have it."""
        numbers = ("NHWC", "HWIO", "NHWC")
        return self.module.lax.conv_general_dilated(image, weight, (1, 1), "VALID", dimension_numbers=numbers)

    def solve(self, matrix: Any, side: Any) -> Any:
        """By LU decomposition (cuSOLVER on a GPU)."""
        return self.module.numpy.linalg.solve(matrix, side)

    def compiled(self, tensor: Any) -> Any:
        """``jax.jit``."""
        jnp = self.module.numpy
        return self.module.jit(lambda x: (jnp.sin(x) * x + jnp.exp(-x * x)).sum(1))(tensor)

    def losses(self, data: Any, target: Any) -> List[float]:
        """Plain gradient descent."""
        jnp, weight, found = self.module.numpy, self.cast(self.host([0.0] * 8, 8, 1), "float32"), []
        step = self.module.jit(self.module.value_and_grad(lambda w: jnp.mean((data @ w - target) ** 2)))
        for _ in range(20):
            loss, gradient = step(weight)
            weight = weight - 0.3 * gradient
            found.append(float(loss))
        return found
