"""PyTorch, in every format that the device has."""

import os
import shutil
import sysconfig
from typing import Any, Dict, List, Sequence

from array_checks import Adapter, drawn, error, judge, place, system
from libraries import loaded
from reporting import Failed, Skipped, brief

# The float8 type that each AMD target multiplies (hipBLASLt, "Supported data types"): CDNA 3 has a form of its own.
AMD_FLOAT8 = (("gfx942", "float8_e4m3fnuz"), ("gfx950", "float8_e4m3fn"), ("gfx12", "float8_e4m3fn"))


def _convolution(torch: "Torch") -> Dict[str, Any]:
    """Forward and backward through cuDNN or MIOpen, against the same in float64 on the processor."""
    module, results = torch.module, []
    torch.set_tf32(False)
    image, weight = drawn(torch, 21, 2, 8, 20, 20).float(), drawn(torch, 22, 6, 8, 3, 3).float()
    for device, kind in ((torch.device, module.float32), ("cpu", module.float64)):
        inputs = [item.to(device, kind, copy=True).requires_grad_() for item in (image, weight)]
        out = module.nn.functional.conv2d(inputs[0], inputs[1], padding=1)
        (out * out).sum().backward()
        results.append([out.detach()] + [item.grad for item in inputs])
    place(torch, results[0][0])
    worst = max(error(torch.get(got), want) for got, want in zip(*results))
    return judge(worst, 1e-4, "a convolution or its gradient")


def _linalg(torch: "Torch") -> Dict[str, Any]:
    """cuSOLVER and cuFFT, or their ROCm siblings: a missing library shows only when it is called."""
    matrix, side = system(torch)
    solution = torch.module.linalg.solve(matrix, side)
    place(torch, solution)
    spectrum = torch.module.fft.ifft(torch.module.fft.fft(side[:, 0])).real
    solved = error(torch.get(matrix) @ torch.get(solution), torch.get(side))
    turned = error(torch.get(spectrum), torch.get(side)[:, 0])
    return judge(max(solved, turned), 1e-4, "a linear system or a Fourier transform")


def _collective(torch: "Torch") -> Dict[str, Any]:
    """An all-reduce over all visible devices: rank + 1 everywhere must sum to n (n + 1) / 2."""
    module, count = torch.module, torch.count
    if count < 2:
        raise Skipped("it takes two devices, there %s %d" % ("is" if count == 1 else "are", count))
    parts = [module.full((1 << 20,), float(rank + 1), device="cuda:%d" % rank) for rank in range(count)]
    try:
        module.cuda.nccl.all_reduce(parts)
        sums = [float(part.min()) for part in parts] + [float(part.max()) for part in parts]
    except Exception as error:
        raise Failed("probe-collective-failed", "all-reduce: %s" % brief(str(error)))
    if set(sums) != {count * (count + 1) / 2.0}:
        raise Failed("probe-collective-failed", "all-reduce gives %s" % sorted(set(sums)))
    return {"devices": count}


def _libraries(_torch: "Torch") -> Dict[str, Any]:
    """What was loaded in the end; two copies of one library are reported, not guessed about."""
    found = loaded()
    twice = {name: paths for name, paths in found.items() if len(set(map(os.path.realpath, paths))) > 1}
    if twice:
        raise Failed("library-mismatch", "loaded from two places: %s" % ", ".join(sorted(twice)), libraries=twice)
    return {"libraries": found}


class Torch(Adapter):
    """PyTorch behind the checks' adapter.

    Attributes:
        count: number of CUDA's or ROCm's devices.
        capability: of the first one.
    """

    name = "torch"
    formats = ("float64", "float32", "tf32", "float16", "bfloat16", "float8")
    own = {"convolution": _convolution, "linalg": _linalg, "libraries": _libraries}
    more = (("collective", _collective),)
    count = 0
    capability = (0, 0)

    def runtime(self) -> str:
        """``cuda12.6``, ``rocm6.2``, ``xpu`` or ``cpu``."""
        version = self.module.version
        hip, xpu = getattr(version, "hip", None), getattr(version, "xpu", None)
        if version.cuda:
            return "cuda" + str(version.cuda)
        if hip:
            return "rocm" + ".".join(str(hip).split(".")[:2])
        return "xpu" if xpu else "cpu"

    def devices(self) -> List[str]:
        """Names of the GPUs, Intel's if there is none of another vendor."""
        cuda, xpu = self.module.cuda, getattr(self.module, "xpu", None)
        if cuda.is_available():
            self.gpu, self.count, self.capability = "cuda", cuda.device_count(), cuda.get_device_capability(0)
            return [str(cuda.get_device_name(number)) for number in range(self.count)]
        if xpu is not None and xpu.is_available():
            self.gpu = "xpu"
            return [str(xpu.get_device_name(number)) for number in range(xpu.device_count())]
        return []

    def figures(self, check: str) -> Dict[str, Any]:
        """The kernels of the build; number, name and capability of CUDA's devices, and cuDNN's release."""
        cuda = self.module.cuda
        if check == "build":
            return {"kernels": list(cuda.get_arch_list()) if self.runtime() != "cpu" and cuda.is_available() else []}
        if self.device != "cuda":
            return {}
        known = {"count": self.count, "name": cuda.get_device_name(0), "capability": self.capability}
        return dict(known, cudnn=self.module.backends.cudnn.version())

    def silence(self) -> str:
        """What it says when a device is asked for outright."""
        if self.runtime() == "cpu":
            return "this build has no GPU code"
        try:
            self.module.zeros(1, device="xpu" if self.runtime() == "xpu" else "cuda")
        except Exception as error:
            return brief(str(error), 200)
        return super().silence()

    def host(self, values: Sequence[float], *shape: int) -> Any:
        """By torch itself, whose images need no NumPy."""
        return self.module.tensor(values, dtype=self.module.float64).reshape(shape)

    def cast(self, array: Any, format: str) -> Any:
        """On the processor: some GPUs have no float64."""
        return array.to(self.kind(format)).to(self.device)

    def kind(self, format: str) -> Any:
        """The element type to test a format with.

        Tensor cores have tf32 and bfloat16 from capability 8.0 (CUDA C++ Programming Guide, compute capabilities).

        Raises:
            Skipped: if device or build does not have it.
        """
        nvidia = self.device == "cuda" and not getattr(self.module.version, "hip", None)
        if format == "tf32":
            if not nvidia or self.capability < (8, 0):
                raise Skipped("this device has no TF32")
            return self.module.float32
        if format == "float8":
            return self._float8(nvidia)
        if format == "bfloat16" and nvidia and self.capability < (8, 0):
            raise Skipped("this device has no bfloat16")
        if format == "float64" and self.device == "xpu" and not getattr(self._properties(), "has_fp64", True):
            raise Skipped("this device has no float64")
        return getattr(self.module, format)

    def _float8(self, nvidia: bool) -> Any:
        """The float8 type of the device: NVIDIA has e4m3fn from capability 8.9 on, AMD by :data:`AMD_FLOAT8`."""
        name = "float8_e4m3fn" if nvidia and self.capability >= (8, 9) else ""
        if self.device == "cuda" and not nvidia:
            target = str(getattr(self._properties(), "gcnArchName", ""))
            name = next((name for start, name in AMD_FLOAT8 if target.startswith(start)), "")
        if not name or not hasattr(self.module, name):
            raise Skipped("this device or build has no float8 product")
        return getattr(self.module, name)

    def _properties(self) -> Any:
        """What the build says of the first device; ``None`` where it does not answer."""
        try:
            return getattr(self.module, self.device).get_device_properties(0)
        except Exception:  # noqa: BLE001 - another release may have no such call; the product itself then decides
            return None

    def get(self, tensor: Any) -> Any:
        """As float64."""
        return tensor.detach().cpu().double()

    def place(self, tensor: Any) -> str:
        """By the tensor's device."""
        return str(tensor.device.type)

    def set_tf32(self, wanted: bool) -> None:
        """By the switches of products and of convolutions, whose defaults differ between releases."""
        self.module.backends.cuda.matmul.allow_tf32 = self.module.backends.cudnn.allow_tf32 = wanted

    def matmul(self, left: Any, right: Any) -> Any:
        """float8 has no ``@``.

        Raises:
            Skipped: if the processor's code has no product in this format.
        """
        if "float8" in str(left.dtype):
            return self.scaled(left, right.t().contiguous().t(), self.module.ones((), device=self.device))
        try:
            return left @ right
        except RuntimeError as error:
            if self.device == "cpu" and "not implemented for" in str(error):
                raise Skipped("this build's processor code has no product in this format")
            raise

    def scaled(self, left: Any, right: Any, scale: Any) -> Any:
        """The float8 product, whose right side lies column by column; releases give a pair or a tensor.

        Raises:
            Skipped: if the build says itself that it has none for this device (ATen, ``Blas.cpp``).
        """
        try:
            result = self.module._scaled_mm(left, right, scale_a=scale, scale_b=scale, out_dtype=self.module.bfloat16)
        except (RuntimeError, NotImplementedError) as error:
            if "_scaled_mm" in str(error) and "supported" in str(error):
                raise Skipped("this build has no float8 product for the device: %s" % brief(str(error), 200))
            raise
        return result[0] if isinstance(result, tuple) else result

    def losses(self, data: Any, target: Any) -> List[float]:
        """By an optimizer; the weights are drawn on the processor, so that every device starts from the same ones."""
        torch, found = self.module, []
        torch.manual_seed(0)
        layers = [torch.nn.Linear(8, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1)]
        model = torch.nn.Sequential(*layers).to(self.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
        for _ in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(data), target)
            loss.backward()
            optimizer.step()
            found.append(float(loss.detach()))
        return found

    def compiled(self, tensor: Any) -> Any:
        """``torch.compile``: Triton compiles a launcher in C, and inductor's processor code is C++.

        Raises:
            Skipped: if the release has none, or there is no compiler or no header for it.
        """
        torch = self.module
        if not hasattr(torch, "compile"):
            raise Skipped("this release has no torch.compile")
        variable, names = ("CXX", ["g++", "c++", "clang++"]) if self.device == "cpu" else ("CC", ["cc", "gcc", "clang"])
        if not any(name and shutil.which(name) for name in [os.environ.get(variable, "")] + names):
            raise Skipped("no C compiler is installed, which torch.compile needs")
        if not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
            raise Skipped("Python.h is not installed, which torch.compile needs")

        def smooth(data: Any) -> Any:
            return (torch.sin(data) * data + torch.exp(-data * data)).sum(1)

        return torch.compile(smooth, fullgraph=True)(tensor)
