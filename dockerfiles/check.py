# Runs once while the image is built, under the image's own Python (3.7 or newer), and stops the build when what was
# installed is not what was planned. Comment lines are left out of the Dockerfile.
import json, os, platform, re, sys, sysconfig

plan, bad = json.loads(sys.argv[1]), []


def expect(what, have, want):
    if have != want:
        bad.append("%s is %s, planned %s" % (what, have, want))


expect("Python", "%d.%d" % sys.version_info[:2], plan["python"])
machine = platform.machine()
expect("machine", machine, machine if machine in plan["machines"] else " or ".join(plan["machines"]))
site = sysconfig.get_paths()["purelib"]
found = {}
for entry in os.listdir(site):
    if entry.endswith(".dist-info"):
        name, _, version = entry[: -len(".dist-info")].partition("-")
        found[re.sub("[-_.]+", "-", name).lower()] = version
for name, version in plan["versions"].items():
    expect(name, found.get(name), version)
for path in plan.get("files", ()):
    if not os.path.exists(path):
        bad.append("%s is missing: the base holds no such driver" % path)

# One GPU library stands for its whole toolkit; links and several names of one file count once.
stem = re.compile(r"lib(cublas|rocblas)(-[0-9a-f]+)?[.]so")
copies = set()
for root in (sys.prefix, "/usr/local", "/usr/lib", "/usr/lib64", "/opt"):
    for folder, _, files in os.walk(root):
        copies.update(os.path.realpath(os.path.join(folder, file)) for file in files if stem.match(file))
if len(copies) > plan["copies"]:
    bad.append("%d copies of the GPU toolkit, planned %d: %s" % (len(copies), plan["copies"], ", ".join(sorted(copies))))


def torch(module):
    build = module.version
    hip, xpu = getattr(build, "hip", None), getattr(build, "xpu", None)
    return "cuda" + build.cuda if build.cuda else "rocm" + hip if hip else "xpu" if xpu else "cpu"


def tensorflow(module):
    build = module.sysconfig.get_build_info()
    cuda = build.get("cuda_version")
    return "cuda" + str(cuda) if cuda else "rocm" if build.get("is_rocm_build") else "cpu"


def paddle(module):
    cuda = str(module.version.cuda())
    return "cuda" + cuda if cuda[:1].isdigit() else "cpu"


# The framework says itself what it was built for: a version alone does not tell a CPU wheel from a GPU wheel.
for name, runtime in ({} if bad else plan["builds"]).items():
    __import__(name)
    says = {"torch": torch, "tensorflow": tensorflow, "paddle": paddle}.get(name)
    says = says(sys.modules[name]) if says else runtime
    if not (says.startswith(runtime) or runtime.startswith("rocm") and says == "rocm"):
        bad.append("%s was built for %s, planned %s" % (name, says, runtime))

sys.exit("\n".join(bad) or print("installed as planned"))
