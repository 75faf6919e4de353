"""TensorFlow, eagerly and through XLA."""

import os
from typing import Any, List

from array_checks import Adapter

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")


class TensorFlow(Adapter):
    """TensorFlow behind the checks' adapter; soft placement is off, so nothing slides to the processor unseen."""

    name = "tensorflow"

    def version(self) -> str:
        """The version; turns soft placement off before anything is computed."""
        self.module.config.set_soft_device_placement(False)
        return str(self.module.__version__)

    def runtime(self) -> str:
        """From the build information of the wheel."""
        found = self.module.sysconfig.get_build_info()
        if found.get("is_rocm_build"):
            return "rocm"
        cuda = found.get("cuda_version")
        if not found.get("is_cuda_build", bool(cuda)):
            return "cpu"
        return "cuda" + ".".join(str(cuda).split(".")[:2]) if cuda else "cuda"

    def devices(self) -> List[str]:
        """Names of the physical GPUs."""
        gpus = self.module.config.list_physical_devices("GPU")
        details = [self.module.config.experimental.get_device_details(gpu) for gpu in gpus]
        return [str(detail.get("device_name", gpu.name)) for detail, gpu in zip(details, gpus)]

    def cast(self, array: Any, format: str) -> Any:
        """On the first device of the chosen kind."""
        with self._on():
            return self.module.cast(self.module.constant(array), format)

    def _on(self) -> Any:
        return self.module.device("/GPU:0" if self.device == "gpu" else "/CPU:0")

    def get(self, tensor: Any) -> Any:
        """As float64 or an integer array."""
        if tensor.dtype.is_integer:
            return tensor.numpy()
        return self.module.cast(tensor, self.module.float64).numpy()

    def place(self, tensor: Any) -> str:
        """By the tensor's device string."""
        return "gpu" if "GPU" in tensor.device else "cpu"

    def set_tf32(self, wanted: bool) -> None:
        """By its switch for all operations."""
        self.module.config.experimental.enable_tensor_float_32_execution(wanted)

    def matmul(self, left: Any, right: Any) -> Any:
        """On the chosen device."""
        with self._on():
            return self.module.matmul(left, right)

    def exact(self, tensor: Any) -> Any:
        """32-bit integers wrap as they do in C."""
        with self._on():
            return self.module.bitwise.bitwise_xor(tensor * 12345 + 678, 0x5A5A5A5A)

    def convolution(self, image: Any, weight: Any) -> Any:
        """NHWC and HWIO, TensorFlow's own order."""
        with self._on():
            return self.module.nn.conv2d(image, weight, strides=1, padding="VALID")

    def solve(self, matrix: Any, side: Any) -> Any:
        """By LU decomposition (cuSOLVER on a GPU)."""
        with self._on():
            return self.module.linalg.solve(matrix, side)

    def compiled(self, tensor: Any) -> Any:
        """``tf.function(jit_compile=True)``: XLA, which on a GPU needs ptxas and libdevice."""
        tf = self.module
        with self._on():
            return tf.function(lambda x: tf.reduce_sum(tf.sin(x) * x + tf.exp(-x * x), 1), jit_compile=True)(tensor)

    def losses(self, data: Any, target: Any) -> List[float]:
        """Plain gradient descent by tape."""
        tf, found = self.module, []
        with self._on():
            weight = tf.Variable(tf.zeros((8, 1)))
            for _ in range(20):
                with tf.GradientTape() as tape:
                    loss = tf.reduce_mean((data @ weight - target) ** 2)
                weight.assign_sub(0.3 * tape.gradient(loss, weight))
                found.append(float(loss))
        return found
