"""PaddlePaddle; its own ``run_check`` accepts a CPU build as success, so it is not used."""

from typing import Any, List

from array_checks import Adapter
from reporting import Skipped


class Paddle(Adapter):
    """Paddle behind the checks' adapter."""

    name = "paddle"

    def runtime(self) -> str:
        """From the wheel's version module; a CPU build says ``False``."""
        cuda = str(self.module.version.cuda())
        if self.module.device.is_compiled_with_rocm():
            return "rocm"
        return "cuda" + ".".join(cuda.split(".")[:2]) if cuda[:1].isdigit() else "cpu"

    def devices(self) -> List[str]:
        """Names of the GPUs."""
        if not self.module.device.is_compiled_with_cuda():
            return []
        count = self.module.device.cuda.device_count()
        return [str(self.module.device.cuda.get_device_name(index)) for index in range(count)]

    def cast(self, array: Any, format: str) -> Any:
        """On the first device of the chosen kind."""
        self.module.set_device("gpu:0" if self.device == "gpu" else "cpu")
        return self.module.to_tensor(array).astype(format)

    def get(self, tensor: Any) -> Any:
        """As float64 or an integer array."""
        if "int" in str(tensor.dtype):
            return tensor.numpy()
        return tensor.astype("float32").numpy().astype("float64") if "64" not in str(tensor.dtype) else tensor.numpy()

    def place(self, tensor: Any) -> str:
        """By the tensor's place."""
        return "gpu" if "gpu" in str(tensor.place).lower() else "cpu"

    def matmul(self, left: Any, right: Any) -> Any:
        """A product, where the build has a kernel for the format.

        Raises:
            Skipped: if it has none: Paddle registers fewer formats for the processor than for a GPU.
        """
        try:
            return self.module.matmul(left, right)
        except (RuntimeError, NotImplementedError) as error:
            if self.device == "cpu" and "not registered" in str(error):
                raise Skipped("this build's processor code has no product in this format")
            raise

    def exact(self, tensor: Any) -> Any:
        """32-bit integers wrap as they do in C."""
        mask = self.module.full_like(tensor, 0x5A5A5A5A)
        return self.module.bitwise_xor(tensor * 12345 + 678, mask)

    def convolution(self, image: Any, weight: Any) -> Any:
        """Paddle's order is NCHW and OIHW."""
        flipped = self.module.transpose(image, [0, 3, 1, 2])
        result = self.module.nn.functional.conv2d(flipped, self.module.transpose(weight, [3, 2, 0, 1]))
        return self.module.transpose(result, [0, 2, 3, 1])

    def solve(self, matrix: Any, side: Any) -> Any:
        """By LU decomposition (cuSOLVER on a GPU)."""
        return self.module.linalg.solve(matrix, side)

    def compiled(self, tensor: Any) -> Any:
        """``paddle.jit.to_static``."""
        paddle = self.module

        def smooth(data: Any) -> Any:
            return (paddle.sin(data) * data + paddle.exp(-data * data)).sum(1)

        return paddle.jit.to_static(smooth)(tensor)

    def losses(self, data: Any, target: Any) -> List[float]:
        """Plain gradient descent."""
        paddle, found = self.module, []
        weight = paddle.zeros([8, 1])
        for _ in range(20):
            weight.stop_gradient = False
            loss = paddle.mean((paddle.matmul(data, weight) - target) ** 2)
            loss.backward()
            weight = (weight - 0.3 * weight.grad).detach()
            found.append(float(loss))
        return found
