"""Facts for every rule that show its fault; sound ones stand in ``rule_neighbours``. Plain data, for test_families."""

from __future__ import annotations


def card(name="NVIDIA GeForce RTX 4090", target="sm_89", **more):
    return {"name": name, "vendor": "nvidia", "target": target, "driver": "nvidia", **more}


def radeon(name="AMD Radeon RX 7900 XTX", target="gfx1100", **more):
    return {"name": name, "vendor": "amd", "target": target, "driver": "amdgpu", **more}


def library(name, **more):
    return {"name": name, **more}


ADA = [card()]
A100 = [card("NVIDIA A100-SXM4-80GB", "sm_80")]
V100 = [card("Tesla V100-SXM2-16GB", "sm_70")]
PASCAL = [card("NVIDIA GeForce GTX 1080 Ti", "sm_61")]
BLACKWELL = [card("NVIDIA GeForce RTX 5090", "sm_120")]
NAVI = [radeon()]
NO_IMAGE = "CUDA error: no kernel image is available for execution on the device"

FAULTY = [
    ("driver-library-faulty", {"driver_faults": {"/usr/lib/libcuda.so.1": "crashed"}}),
    # kernel modules and nodes
    ("driver-vfio-bound", {"gpus": [card(driver="vfio-pci")]}),
    ("driver-nouveau-bound", {"gpus": [card(driver="nouveau")], "driver": None}),
    (
        "driver-secure-boot-unsigned",
        {"secure_boot": True, "gpus": ADA, "modules": [], "driver_library": "550.54", "driver": None},
    ),
    (
        "driver-module-not-loaded",
        {"driver_library": "550.54.14", "gpus": ADA, "modules": [], "driver": None, "platform": "linux"},
    ),
    ("driver-gsp-init-failed", {"error": "NVRM: RmInitAdapter: Cannot initialize GSP firmware RM", "gpus": ADA}),
    ("driver-open-module-required", {"driver_branch": "proprietary", "gpus": BLACKWELL}),
    ("driver-open-module-unsupported-gpu", {"driver_branch": "open", "gpus": PASCAL}),
    ("driver-gpu-unsupported-by-branch", {"driver": "550.54", "gpus": [card("Tesla K80", "sm_37")]}),
    ("driver-gpu-unsupported-by-branch", {"platform": "wsl2", "driver": "591.59", "gpus": PASCAL}),
    ("driver-device-count-mismatch", {"driver": "550.54", "gpus": [card(), card(lost=True)]}),
    ("uvm-not-ready", {"device_nodes": ["/dev/nvidiactl", "/dev/nvidia0"], "gpus": ADA}),
    ("device-permission", {"device_nodes_denied": ["/dev/kfd"], "gpus": NAVI}),
    ("wsl1", {"platform": "wsl1"}),
    ("wsl-no-gpu-device", {"platform": "wsl2", "device_nodes": []}),
    ("wsl-linux-driver-installed", {"platform": "wsl2", "driver_packages": ["nvidia-driver-550"]}),
    ("no-gpu-here", {"gpus": [], "packages": {"torch": "2.9.1"}, "builds": {"torch": {"runtime": "cuda12.8"}}}),
    ("no-gpu-here", {"gpus": [], "error": "RuntimeError: Found no NVIDIA driver on your system"}),
    (
        "no-gpu-here",
        {
            "container": "docker",
            "gpus": [],
            "env": {"NVIDIA_VISIBLE_DEVICES": "all"},
            "packages": {"torch": "2.9.1"},
            "builds": {"torch": {"runtime": "cuda12.8"}},
        },
    ),
    # health
    ("gpu-xid-fatal", {"xids": ["79"], "gpus": ADA}),
    ("gpu-xid-fatal", {"error": "NVRM: Xid (PCI:0000:3b:00): 119, pid=1, GSP RPC timeout", "gpus": ADA}),
    ("gpu-xid-application", {"xids": ["31"], "gpus": ADA}),
    ("gpu-ecc-uncorrectable", {"gpus": [card(ecc_uncorrected=4)]}),
    ("driver-hangs", {"hung": {"nvml": "the driver's library did not answer"}, "gpus": ADA}),
    ("gpu-row-remap-pending", {"gpus": [card(remap_pending=True)]}),
    ("gpu-reset-required", {"gpus": [card(lost=True)]}),
    ("gpu-thermal-throttle", {"gpus": [card(throttle=["hw_thermal_slowdown"])]}),
    ("gpu-persistence-off", {"gpus": [card("NVIDIA A100-SXM4-80GB", "sm_80", persistence=False)]}),
    ("gpu-compute-mode-exclusive", {"gpus": [card(compute_mode="prohibited")]}),
    ("mig-enabled-no-instance", {"gpus": [card(mig="enabled", mig_devices=0)]}),
    ("mig-pending-mode", {"gpus": [card(mig="disabled", mig_pending="enabled")]}),
    ("mig-single-visible", {"gpus": [card(mig="enabled", mig_devices=2)]}),
    ("mixed-gpu-architectures", {"gpus": [*ADA, *PASCAL]}),
    # links
    ("fabric-manager-down", {"nvswitch": 4, "fabric_manager": None, "driver": "535.161.08"}),
    ("fabric-manager-down", {"error": "CUDA error 802: system not yet initialized", "driver": "535.161.08"}),
    ("fabric-manager-version-mismatch", {"fabric_manager": "535.129.03 running", "driver": "535.161.08"}),
    ("nvlink-down", {"xids": ["74"]}),
    ("pcie-link-degraded", {"gpus": [card(pcie="gen4 x4", pcie_max="gen4 x16")]}),
    ("pcie-link-degraded", {"gpus": [card("NVIDIA A16", "sm_86", pcie="gen4 x1", pcie_max="gen4 x16")]}),
    ("engine-file-foreign", {"error": "[TRT] [E] 6: The engine plan file is generated on an incompatible device"}),
    ("engine-file-foreign", {"error": "Serialization Error in verifyHeader: 0 (Version tag does not match)"}),
    ("engine-file-foreign", {"error": "[E] Platform specific tag mismatch detected. TensorRT plan files are"}),
    # the product
    ("gpu-unlike-its-kind", {"gpus": [card("Tesla T4", "sm_75", memory_mib=7680)]}),
    ("gpu-unlike-its-kind", {"gpus": [card("NVIDIA L4", "sm_89", memory_mib=49152)]}),
    ("gpu-unlike-its-kind", {"gpus": [card("NVIDIA RTX A6000", "sm_86", pcie="gen1 x16", pcie_max="gen3 x16")]}),
    ("gpu-unlike-its-kind", {"gpus": [card("NVIDIA A100-SXM4-80GB", "sm_80", nvlinks=8, nvlinks_down=0)]}),
    ("gpu-unlike-its-kind", {"gpus": [card(clock_max_mhz=3105), card(clock_max_mhz=2520)]}),
    ("gpu-unlike-its-kind", {"gpus": [card("NVIDIA RTX A6000", "sm_86", pcie_max="gen4 x8")]}),
    ("gpu-power-capped", {"gpus": [card(power_limit_w=300, power_default_w=450)]}),
    ("gpu-power-capped", {"gpus": [card("NVIDIA H100 80GB HBM3", "sm_90", power_limit_w=500)]}),
    ("gpu-power-capped", {"gpus": [card("NVIDIA L4", "sm_89", power_limit_w=40, power_default_w=40)]}),
    ("iommu-multi-gpu-hang", {"gpus": NAVI * 2, "iommu": "translated"}),
    ("p2p-unsupported", {"gpus": ADA * 2, "error": "peer access is not supported between these two devices"}),
    ("peermem-missing", {"modules": ["nvidia"], "error": "NCCL INFO ibcore is not using peermem module"}),
    # driver
    ("no-driver", {"gpus": [card(driver="none")], "driver": None}),
    (
        "no-driver",
        {
            "gpus": ADA,
            "driver": "550.54",
            "error": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        },
    ),
    (
        "driver-stub-loaded",
        {
            "libraries": [
                library("libcuda.so.1", origin="stubs", loaded=True, path="/usr/local/cuda/lib64/stubs/libcuda.so")
            ]
        },
    ),
    ("driver-library-mismatch", {"driver": "535.171.04", "driver_library": "535.183.01"}),
    (
        "driver-duplicate-libraries",
        {"libraries": [library("libcuda.so.1", version="535.171.04"), library("libcuda.so.1", version="550.54.14")]},
    ),
    ("driver-too-old-for-runtime", {"driver": "470.57.02", "builds": {"torch": {"runtime": "cuda12.1"}}}),
    ("driver-too-old-for-runtime", {"driver": "550.54.14", "packages": {"torch": "2.9.1+cu130"}}),
    ("driver-too-old-for-runtime", {"driver_cuda": "10.1", "builds": {"torch": {"runtime": "cuda10.2"}}}),
    (
        "driver-too-old-for-runtime",
        {"error": "ptxas fatal : Unsupported .version 8.5; current version is '8.4'", "driver": "550.54.15"},
    ),
    ("driver-minor-version-limited", {"driver_cuda": "12.2", "builds": {"torch": {"runtime": "cuda12.8"}}}),
    ("ptx-jit-disabled", {"env": {"CUDA_DISABLE_PTX_JIT": "1"}}),
    (
        "forward-compat-conflict",
        {"libraries": [library("libcuda.so.1", origin="compat", loaded=True, version="570.86.15")], "gpus": ADA},
    ),
    ("forward-compat-available", {"driver": "470.57.02", "gpus": A100, "builds": {"torch": {"runtime": "cuda12.1"}}}),
    # AMD
    ("rocm-no-driver", {"gpus": NAVI, "modules": [], "container": None}),
    (
        "rocm-kfd-missing",
        {"gpus": NAVI, "modules": ["amdgpu"], "device_nodes": ["/dev/dri/renderD128"], "container": None},
    ),
    ("rocm-container-flags", {"gpus": NAVI, "container": "docker", "device_nodes": ["/dev/dri/renderD128"]}),
    (
        "rocm-gfx-unsupported",
        {"gpus": [radeon("AMD Radeon RX 6700 XT", "gfx1031")], "packages": {"torch": "2.0.1+rocm5.4.2"}},
    ),
    (
        "rocm-gfx-unsupported",
        {
            "gpus": NAVI,
            "error": "rocBLAS error: Cannot read /opt/rocm/lib/TensileLibrary.dat: No such file for GPU arch : gfx1036",
        },
    ),
    ("rocm-gfx-override", {"gpus": NAVI, "env": {"HSA_OVERRIDE_GFX_VERSION": "10.3.0"}}),
    (
        "rocm-version-mismatch",
        {
            "rocm": "5.7.1",
            "builds": {"torch": {"runtime": "rocm6.0"}},
            "error": "undefined symbol: hsa_amd_memory_async_copy_on_engine",
        },
    ),
    ("rocm-libs-mixed", {"env": {"LD_LIBRARY_PATH": "/opt/rocm/lib"}, "builds": {"torch": {"runtime": "rocm6.2"}}}),
    ("rocm-igpu-interferes", {"gpus": [*NAVI, radeon("AMD Radeon Graphics", "gfx1036", integrated=True)]}),
    # containers and engines
    ("container-no-gpu", {"container": "docker", "device_nodes": [], "gpus": ADA}),
    (
        "container-no-gpu",
        {"error": 'could not select device driver "" with capabilities: [[gpu]]', "engine_flavour": "snap"},
    ),
    (
        "container-no-gpu",
        {"error": "RuntimeError: Found no NVIDIA driver on your system", "commands": ["docker build ."]},
    ),
    ("container-visible-devices", {"container": "docker", "env": {"NVIDIA_VISIBLE_DEVICES": "void"}}),
    ("container-driver-capabilities", {"env": {"NVIDIA_DRIVER_CAPABILITIES": "utility"}}),
    ("container-requires-newer-driver", {"driver": "470.57.02", "image_env": {"NVIDIA_REQUIRE_CUDA": "cuda>=12.4"}}),
    (
        "container-requires-newer-driver",
        {"error": "requirement error: unsatisfied condition: cuda>=12.8", "driver": "535.54"},
    ),
    ("container-cgroup-lost", {"container": "docker", "error": "Failed to initialize NVML: Unknown Error"}),
    ("container-selinux", {"selinux": "enforcing", "container": "podman", "device_nodes_denied": ["/dev/nvidia0"]}),
    ("container-image-arch", {"arch": "aarch64", "image": "example/app:1.0-amd64"}),
    (
        "image-runtime-not-devel",
        {"image": "nvidia/cuda:12.4.1-runtime-ubuntu22.04", "error": "CUDA_HOME environment variable is not set"},
    ),
    ("image-ships-driver", {"container": "docker", "driver_packages": ["libnvidia-compute-535"]}),
    ("shm-too-small", {"container": "docker", "shm_mib": 64}),
    ("shm-too-small", {"error": "DataLoader worker (pid 5) is killed by signal: Bus error.", "shm_mib": 64}),
    ("container-memlock-limit", {"memlock_kib": 64, "error": "NET/IB : ibv_reg_mr failed"}),
    ("container-numa-blocked", {"container": "docker", "error": "NCCL INFO cuMem host allocations are not supported"}),
    ("docker-missing", {"engine": None, "container": None}),
    ("docker-daemon-down", {"engine_status": "stopped"}),
    ("docker-permission", {"engine_status": "denied"}),
    (
        "docker-no-gpu-runtime",
        {"engine": "docker 28.3.0", "engine_status": "running", "gpu_runtime": None, "gpus": ADA, "container": None},
    ),
    ("docker-snap", {"engine_flavour": "snap", "gpus": ADA}),
    ("docker-rootless", {"engine_flavour": "rootless", "gpus": ADA}),
    ("cdi-spec-stale", {"cdi_driver": "535.54.03", "driver": "550.54.14"}),
    ("container-toolkit-old", {"container_toolkit": "1.5.1", "cgroup": "v2 systemd"}),
    (
        "container-mixed-injection",
        {
            "error": "invoking the NVIDIA Container Runtime Hook directly (e.g. specifying the docker --gpus flag) is not supported"
        },
    ),
    ("container-cli-ldcache", {"error": "nvidia-container-cli: ldcache error: process /sbin/ldconfig failed"}),
    (
        "container-visible-devices-unprivileged",
        {"error": "insufficient privileges to read device list from NVIDIA_VISIBLE_DEVICES envvar"},
    ),
    ("k8s-no-gpu-resource", {"container": "kubernetes", "device_nodes": []}),
    # platform and Python
    ("platform-unsupported", {"platform": "windows", "arch": "x86_64", "wishes": ["triton==3.0.0"]}),
    ("cpu-instructions-missing", {"cpu_flags": ["sse4_2"], "packages": {"tensorflow": "2.12.0"}, "arch": "x86_64"}),
    ("musl-libc", {"libc": "musl"}),
    ("musl-libc", {"libc": "musl", "platform": "linux", "arch": "x86_64", "packages": {"torch": "2.9.1"}}),
    ("glibc-too-old", {"glibc": "2.17", "packages": {"torch": "2.6.0+cu126"}}),
    (
        "glibc-too-old",
        {
            "glibc": "2.27",
            "error": "/lib/x86_64-linux-gnu/libm.so.6: version `GLIBC_2.29' not found (required by x.so)",
        },
    ),
    (
        "libstdcxx-too-old",
        {"libstdcxx": "3.4.25", "error": "version `GLIBCXX_3.4.29' not found (required by libtorch.so)"},
    ),
    ("python-unsupported", {"python": "3.13.1", "wishes": ["torch==2.0.1"]}),
    ("python-tag-mismatch", {"python": "3.11.4", "builds": {"flash-attn": {"python_tag": "cp310"}}}),
    (
        "windows-vc-runtime-missing",
        {"platform": "windows", "msvc": None, "error": "ImportError: DLL load failed while importing _pywrap"},
    ),
    ("windows-long-paths", {"platform": "windows", "error": "HINT: https://pip.pypa.io/warnings/enable-long-paths"}),
    ("windows-tdr-timeout", {"platform": "windows", "error": "CUDA error: the launch timed out and was terminated"}),
    ("macos-no-cuda", {"platform": "darwin", "error": "AssertionError: Torch not compiled with CUDA enabled"}),
    ("macos-rosetta-python", {"platform": "darwin", "arch": "arm64", "python_arch": "x86_64"}),
    ("jetson-generic-wheel", {"l4t": "35.4.1", "packages": {"torch": "2.1.0+cpu"}}),
    ("jetson-jetpack-mismatch", {"l4t": "35.4.1", "image": "nvcr.io/nvidia/l4t-base:r32.7.1"}),
    (
        "jetson-jetpack-mismatch",
        {
            "l4t": "36.4.3",
            "packages": {"torch": "2.0.0"},
            "builds": {"torch": {"runtime": "cuda11.4", "kernels": ["sm_87"]}},
        },
    ),
    (
        "driver-too-old-for-runtime",
        {
            "l4t": "35.4.1",
            "packages": {"torch": "2.9.1"},
            "builds": {"torch": {"runtime": "cuda12.6", "kernels": ["sm_87"]}},
        },
    ),
    ("intel-no-compute-runtime", {"gpus": [{"name": "Intel Arc A770", "vendor": "intel"}], "intel_runtime": None}),
    (
        "intel-render-permission",
        {"gpus": [{"name": "Intel Arc A770", "vendor": "intel"}], "device_nodes_denied": ["/dev/dri/renderD128"]},
    ),
    ("vgpu-unlicensed", {"error": "CUDA_ERROR_DEVICE_NOT_LICENSED"}),
    ("gpu-of-another-maker", {"gpus": [{"name": "MLU370-X8", "vendor": "cambricon", "memory_mib": 23374}]}),
    ("gpu-of-another-maker", {"gpus": [{"vendor": "habana", "pci": "1da3:1020"}]}),
    ("gpu-of-another-maker", {"gpus": [{"name": "Trainium1", "vendor": "aws"}]}),
    ("gpu-of-another-maker", {"gpus": [{"name": "Iluvatar BI-V150", "vendor": "iluvatar"}], "platform": "linux"}),
    ("gpu-shared", {"gpus": [card()], "mps": "running"}),
    ("gpu-shared", {"gpus": [card()], "gpu_sharing": "time-slicing 4"}),
    ("mps-broken", {"error": "MPS client failed to connect to the MPS control daemon or the MPS server"}),
    # kernel targets
    ("arch-too-new-for-build", {"gpus": BLACKWELL, "packages": {"torch": "2.5.1+cu124"}}),
    ("arch-too-new-for-build", {"gpus": BLACKWELL, "builds": {"torch": {"kernels": ["sm_80", "sm_90"]}}}),
    ("arch-too-old-for-build", {"gpus": PASCAL, "packages": {"torch": "2.7.0+cu128"}}),
    ("arch-too-old-for-build", {"gpus": [card("Tesla K80", "sm_37")], "error": NO_IMAGE}),
    ("arch-ptx-only", {"gpus": BLACKWELL, "builds": {"torch": {"kernels": ["sm_90", "compute_90"]}}}),
    (
        "ptx-jit-too-new-for-driver",
        {
            "gpus": BLACKWELL,
            "driver_cuda": "12.2",
            "builds": {"torch": {"runtime": "cuda12.6", "kernels": ["sm_90", "compute_90"]}},
        },
    ),
    ("imex-not-ready", {"gpus": [card("NVIDIA GB200", "sm_100")], "device_nodes": ["/dev/nvidia0"]}),
    ("vgpu-compute-disabled", {"gpus": [card("GRID T4-2B", "sm_75")]}),
    ("pcie-acs-blocks-p2p", {"gpus": ADA * 2, "error": "ACSCtl: SrcValid+ TransBlk- ReqRedir+"}),
    ("nccl-topology-hidden", {"error": "NCCL WARN Could not find CPU close to GPU 0"}),
    ("nccl-topology-hidden", {"gpus": [card(numa=0), card(numa=-1)]}),
    ("arch-specific-target", {"gpus": [card("x", "sm_103")], "builds": {"torch": {"kernels": ["sm_100a"]}}}),
    (
        "arch-integrated-vs-discrete",
        {"gpus": [card("Orin", "sm_87")], "builds": {"torch": {"kernels": ["sm_80", "sm_86"]}}},
    ),
    ("extension-arch-missing", {"gpus": BLACKWELL, "builds": {"flash-attn": {"kernels": ["sm_80", "sm_90"]}}}),
    (
        "kernels-unlike-matrix",
        {
            "gpus": [card("NVIDIA H100 80GB HBM3", "sm_90")],
            "packages": {"torch": "2.0.1"},
            "builds": {"torch": {"runtime": "cuda11.7", "kernels": ["sm_80", "sm_90"], "path": "/v/torch/version.py"}},
        },
    ),
    ("cudnn-drops-gpu", {"gpus": V100, "cudnn": "9.11.0"}),
    ("triton-gpu-too-old", {"gpus": PASCAL, "packages": {"triton": "3.1.0"}}),
    # framework builds and pairs
    ("cpu-only-build", {"gpus": ADA, "packages": {"torch": "2.5.1+cpu"}}),
    # a plain version is what the default index has for this system
    ("cpu-only-build", {"gpus": ADA, "packages": {"tensorflow": "2.16.1"}, "platform": "windows", "arch": "x86_64"}),
    ("cpu-only-build", {"gpus": ADA, "packages": {"torch": "2.6.0"}, "platform": "linux", "arch": "aarch64"}),
    (
        "cpu-only-build",
        {
            "gpus": ADA,
            "error": "An NVIDIA GPU may be present on this machine, but a CUDA-enabled jaxlib is not installed.",
            "packages": {"jax": "0.4.30", "jaxlib": "0.4.30"},
        },
    ),
    ("wrong-vendor-build", {"gpus": ADA, "packages": {"torch": "2.5.1+rocm6.2"}}),
    ("wrong-vendor-build", {"gpus": NAVI, "packages": {"torch": "2.5.1+cu124"}}),
    ("framework-duplicate-install", {"duplicate_packages": {"torch": ["2.1.0", "2.4.0"]}}),
    (
        "framework-elsewhere",
        {"packages": {"torch": "2.4.0"}, "error": "    import torch\nModuleNotFoundError: No module named 'torch'"},
    ),
    (
        "jax-plugin-init-failed",
        {"packages": {"jax-cuda12-plugin": "0.4.30"}, "error": "Unable to load cuDNN. Is it installed?"},
    ),
    ("framework-pair-mismatch", {"packages": {"torch": "2.1.0", "torchvision": "0.15.2"}}),
    ("framework-pair-mismatch", {"packages": {"jax": "0.4.20", "jaxlib": "0.4.30"}}),
    ("framework-pair-mismatch", {"packages": {"torch": "2.0.1", "numpy": "2.0.0"}, "python": "3.10"}),
    ("framework-build-tag-mismatch", {"packages": {"torch": "2.1.0+cu121", "torchvision": "0.16.0+cpu"}}),
    (
        "numpy-abi-mismatch",
        {
            "packages": {"numpy": "2.0.1"},
            "error": "A module that was compiled using NumPy 1.x cannot be run in NumPy 2.0.1",
        },
    ),
    (
        "frameworks-conflict",
        {"packages": {"nvidia-cudnn-cu12": "8.9.2.26"}, "package_requires": {"torch": ["nvidia-cudnn-cu12==9.1.0.70"]}},
    ),
    ("cuda-major-mixed-in-env", {"packages": {"nvidia-cublas-cu11": "11.10.3.66", "nvidia-cublas-cu12": "12.1.3.1"}}),
    # libraries
    ("library-missing", {"libraries": [library("libcudnn.so.9")], "packages": {"torch": "2.5.1+cu124"}}),
    ("library-missing", {"error": "libcublasLt.so.11: cannot open shared object file: No such file or directory"}),
    (
        "library-mismatch",
        {
            "error": "cuDNN version incompatibility: PyTorch was compiled  against (8, 7, 0) but found runtime version (8, 2, 4)"
        },
    ),
    ("abi-mismatch", {"packages": {"torch": "2.3.1"}, "builds": {"flash-attn": {"torch": "2.1.0"}}}),
    (
        "ld-library-path-shadow",
        {
            "env": {"LD_LIBRARY_PATH": "/usr/local/cuda-11.8/lib64"},
            "packages": {"torch": "2.5.1+cu124"},
            "platform": "linux",
        },
    ),
    (
        "nccl-version-mixed",
        {"libraries": [library("libnccl.so.2", version="2.18.1"), library("libnccl.so.2", version="2.20.5")]},
    ),
    ("library-known-bad", {"cudnn": "9.10.0"}),
    # toolkit
    (
        "toolkit-missing",
        {"cuda_toolkit": None, "commands": ["python setup.py install"], "packages": {"torch": "2.5.1+cu124"}},
    ),
    (
        "toolkit-mismatch-extension",
        {"cuda_toolkit": "12.4", "builds": {"torch": {"runtime": "cuda11.8"}}, "commands": ["python setup.py install"]},
    ),
    ("toolkit-too-old-for-arch", {"cuda_toolkit": "11.7", "gpus": ADA, "commands": ["make"]}),
    ("host-compiler-unsupported", {"cuda_toolkit": "11.7", "gcc": "13.2.0", "commands": ["make"]}),
    ("build-tools-missing", {"error": "RuntimeError: Ninja is required to load C++ extensions", "gcc": "12.2"}),
    (
        "cuda-home-broken",
        {"env": {"CUDA_HOME": "/usr/local/cuda-9"}, "cuda_toolkits": {"/usr/local/cuda-12.4": "12.4"}},
    ),
    # use
    ("devices-hidden", {"env": {"CUDA_VISIBLE_DEVICES": "7"}, "gpus": ADA}),
    ("devices-hidden", {"env": {"CUDA_VISIBLE_DEVICES": ""}, "gpus": ADA}),
    ("vgpu-unlicensed", {"error": "    Product Name : NVIDIA RTX vWS\n    License Status   : Unlicensed (Restricted)"}),
    (
        "macos-rosetta-python",
        {
            "platform": "darwin",
            "arch": "arm64",
            "error": "RuntimeError: This version of jaxlib was built using AVX instructions, which your CPU and/or "
            "operating system do not support.",
        },
    ),
    (
        "driver-gpu-unsupported-by-branch",
        {
            "error": "NVRM: The NVIDIA GeForce GTX 1050 GPU installed in this system is\nNVRM:  supported through the "
            "NVIDIA 580.xx Legacy drivers. Please visit it.\nNVRM:  The 595.58.03 NVIDIA driver will ignore this GPU."
        },
    ),
    (
        "rocm-igpu-interferes",
        {
            "gpus": NAVI,
            "error": "rocBLAS error: Cannot read library/TensileLibrary.dat: No such file for GPU arch : gfx1036",
        },
    ),
    ("visible-devices-conflict", {"env": {"ROCR_VISIBLE_DEVICES": "0", "HIP_VISIBLE_DEVICES": "1"}, "gpus": NAVI * 2}),
    (
        "precision-unsupported",
        {
            "gpus": V100,
            "error": "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla V100-SXM2-16GB GPU has compute capability 7.0.",
        },
    ),
    (
        "out-of-memory",
        {"error": "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "gpus": ADA},
    ),
    ("gpu-busy-other-processes", {"gpus": [card(processes=3)]}),
    ("host-memory-low", {"memory_mib": 16000, "gpus": [card(memory_mib=24000)]}),
    ("uma-carveout-small", {"gpus": [radeon("AMD Radeon 780M", "gfx1103", integrated=True, memory_mib=512)]}),
    ("cuda-env-harmful", {"env": {"CUDA_LAUNCH_BLOCKING": "1"}}),
    ("xla-flags-invalid", {"env": {"XLA_FLAGS": "--nonsense"}, "error": "Unknown flags in XLA_FLAGS: --nonsense"}),
    ("bnb-cuda-override", {"env": {"BNB_CUDA_VERSION": "118"}, "packages": {"torch": "2.5.1+cu124"}}),
    ("jax-platforms-mismatch", {"env": {"JAX_PLATFORMS": "rocm"}, "gpus": ADA}),
    ("disk-space-low", {"disk_free_mib": 900}),
    # by facts alone, where no message is at hand
    ("macos-no-cuda", {"platform": "darwin", "builds": {"torch": {"runtime": "cuda12.4"}}}),
    ("macos-no-cuda", {"platform": "darwin", "wishes": ["tensorflow[and-cuda]"]}),
    (
        "macos-no-cuda",
        {"platform": "darwin", "commands": ["pip install torch --index-url https://download.pytorch.org/whl/cu124"]},
    ),
    ("windows-tdr-timeout", {"platform": "windows", "tdr_delay": 2, "packages": {"torch": "2.5.1+cu124"}}),
    ("container-memlock-limit", {"memlock_kib": 64, "container": "docker", "infiniband": 2}),
    (
        "container-mixed-injection",
        {"toolkit_config": {"nvidia-container-runtime.mode": "cdi"}, "commands": ["docker run --gpus all x"]},
    ),
    (
        "image-runtime-not-devel",
        {"image": "nvidia/cuda:12.4.1-base-ubuntu22.04", "commands": ["pip install flash-attn --no-build-isolation"]},
    ),
    ("xla-flags-invalid", {"env": {"XLA_FLAGS": "--xla_gpu_cuda_data_dir=/opt/cuda"}, "cuda_toolkits": {}}),
    ("precision-unsupported", {"gpus": V100, "commands": ["python train.py --bf16"]}),
    ("precision-unsupported", {"gpus": A100, "commands": ["vllm serve m --dtype=fp8"]}),
    ("numpy-abi-mismatch", {"packages": {"torch": "2.2.2", "numpy": "2.0.0"}, "python": "3.10"}),
    ("jax-plugin-init-failed", {"packages": {"jax-cuda12-plugin": "0.4.35"}, "cudnn": None}),
    (
        "library-mismatch",
        {
            "packages": {"torch": "2.5.1+cu124"},
            "cudnn": "9.0.0",
            "libraries": [library("libcudnn.so.9", version="9.0.0", origin="LD_LIBRARY_PATH", loaded=True)],
            "env": {"LD_LIBRARY_PATH": "/x"},
        },
    ),
    ("rocm-version-mismatch", {"rocm": "7.0.0", "amdgpu": "6.0.5", "gpus": NAVI}),
    (
        "rocm-version-mismatch",
        {"amdgpu": "6.1", "gpus": NAVI, "packages": {"jax-rocm7-plugin": "0.9.2.post1"}, "platform": "linux"},
    ),
]
