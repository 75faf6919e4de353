"""Little input that would cost much memory: each command stays below a bound, and says what it did not read."""

import gzip
import io
import json
import resource
import sys
import tarfile

import pytest

BOUND = 800 << 20  # bytes of address space: an ordinary run takes about half of it
MORE = 300  # MiB that a run may take over an ordinary one of the same command
HOST = '{"os": "ubuntu22.04", "arch": "x86_64"}'


def bounded():
    """In the child: more memory than this is a MemoryError, which would be a traceback."""
    resource.setrlimit(resource.RLIMIT_AS, (BOUND, BOUND))


def archive(path, parts):
    with tarfile.open(path, "w") as whole:
        for name, data in parts.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            whole.addfile(info, io.BytesIO(data))


def image(path, layer):
    parts = {
        "l.tar": layer,
        "c.json": b'{"architecture":"amd64","config":{}}',
        "manifest.json": json.dumps([{"Config": "c.json", "Layers": ["l.tar"]}]).encode(),
    }
    archive(path, parts)


def header(name, size, kind):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    return info.tobuf(tarfile.GNU_FORMAT)


def packed(*parts):
    """Gzip of parts, each given as bytes or as (bytes, how often): a stream for each, as gzip lets them follow."""
    return b"".join(member(*each) if isinstance(each, tuple) else member(each) for each in parts)


def member(part, times=1):
    return gzip.compress(part) * times


MIB = bytes(1 << 20)


def documents(path):
    document = b"[" + b"[]," * ((8 << 20) // 3 - 2) + b"[]]"
    archive(path, {f"blobs/sha256/{number:064x}": document for number in range(6)})


def small_documents(path):
    document = b"[" + b"[]," * ((1 << 20) // 3 - 2) + b"[]]"
    archive(path, {f"blobs/sha256/{number:064x}": document for number in range(60)})


def telling(path):
    files = [
        (header(f"usr/lib/python3/dist-packages/p{number}.dist-info/METADATA", 8 << 20, b"0"), (MIB, 8))
        for number in range(100)
    ]
    image(path, packed(*(part for pair in files for part in pair)))


def names(path):
    image(path, packed(*((header(f"{number}/" + "n" * 80, 0, b"0")) for number in range(1_000_000))))


def extended(kind):
    return lambda path: image(path, packed(header("x", 900 << 20, kind), (MIB, 900)))


def many_global(path):
    record = b"131060 k%07d=" + b"v" * (131060 - 16) + b"\n"
    parts = [part for number in range(9000) for part in (header("g", 131060, b"g"), record % number, bytes(12))]
    image(path, packed(*parts[: 3 * 2000]))


def sparse(path):
    text = b"24 GNU.sparse.major=1\n24 GNU.sparse.minor=0\n22 GNU.sparse.name=f\n"
    body = text + bytes(-len(text) % 512)
    data = b"900000000\n" + b"0\n" * ((1 << 20) // 2)
    image(path, packed(header("x", len(text), b"x"), body, header("f", 1 << 33, b"0"), data, (b"0\n" * (1 << 19), 700)))


def old_sparse(path):
    block = (b"00000000000\0" * 42)[:504] + b"\x01" + bytes(7)
    first = bytearray(header("f", 1 << 20, b"S"))
    first[482] = 1
    first[148:156] = b"        "
    first[148:156] = b"%06o\0 " % sum(first)
    image(path, packed(bytes(first), (block * 2048, 700)))


def zeros(path):
    path.write_bytes(packed(header("pkg/x.so", 3000 << 20, b"0"), (MIB, 3000)))


def many_layers(path):
    whole = io.BytesIO()
    with tarfile.open(fileobj=whole, mode="w") as layer:
        for number in range(2000):
            layer.addfile(tarfile.TarInfo("d/" * 300 + str(number)))
    parts = {"l.tar": whole.getvalue(), "c.json": b'{"architecture":"amd64","config":{}}'}
    archive(path, {**parts, "manifest.json": json.dumps([{"Config": "c.json", "Layers": ["l.tar"] * 20_000}]).encode()})


IMAGES = {
    "archive of zeros": zeros,
    "one layer many times": many_layers,
    "documents of 8 MiB": documents,
    "documents of 1 MiB": small_documents,
    "telling files": telling,
    "pax header": extended(b"x"),
    "global header": extended(b"g"),
    "long name": extended(b"L"),
    "long link": extended(b"K"),
    "sparse map": sparse,
    "sparse map of old": old_sparse,
}


@pytest.mark.parametrize("bomb", IMAGES)
def test_an_image_costs_no_more_than_its_bounds(envcheck, tmp_path, bomb):
    path = tmp_path / "image.tar"
    IMAGES[bomb](path)
    (tmp_path / "host.json").write_text(HOST)
    words = ["doctor", "--host", str(tmp_path / "host.json"), "--format", "json"]
    ordinary = envcheck.measured(*words)[3]
    code, out, err, peak = envcheck.measured(*words, "--image", str(path), preexec_fn=bounded)
    assert "Traceback" not in err
    assert peak < ordinary + MORE
    if code == 2:
        assert err.startswith(f"envcheck: {path}: ")
        return
    assert code in {0, 1, 3}
    packages = json.loads(out)["facts"].get("packages")
    assert packages is None or "why" in json.dumps(packages)  # what was left unread is no proof of absence


@pytest.mark.parametrize("stub_name", ["nvidia-smi", "nvcc", "rocminfo"])
def test_a_tool_that_prints_without_end_is_cut(envcheck, stub, stub_name):
    stub(stub_name, f"exec {sys.executable} -c \"\nimport os\nwhile True: os.write(1, b'a' * 65536)\"")
    ordinary = envcheck.measured("host", "--timeout", "60")[3]
    envcheck.env = {**envcheck.env, "PATH": f"{stub.folder}:{envcheck.env['PATH']}"}
    code, _, err, peak = envcheck.measured("host", "--timeout", "60", preexec_fn=bounded)
    assert (code, err) == (0, "")
    assert peak < ordinary + MORE


TOML = {
    "dots": ".".join("a" * 20_000) + " = 1\n",
    "table of dots": "[" + ".".join("a" * 20_000) + "]\n",
    "inline dots": "x = {" + ".".join("a" * 20_000) + " = 1}\n",
    "quoted dots": ".".join(['"a"'] * 20_000) + " = 1\n",
    "spaced dots": " . ".join("a" * 20_000) + " = 1\n",
}


@pytest.mark.parametrize("bomb", TOML)
@pytest.mark.parametrize(
    "words",
    [["doctor", "--host"], ["resolve", "torch", "--host"], ["lint"], ["matrix", "check"], ["ci", "--config"]],
    ids=" ".join,
)
def test_a_key_of_many_dots_is_refused_at_once(envcheck, tmp_path, bomb, words):
    path = tmp_path / "pyproject.toml"
    path.write_text("# first\n" + TOML[bomb])
    code, _, err = envcheck(*words, str(path), preexec_fn=bounded)
    assert code == 2
    assert str(path) in err
    assert "parts" in err
    assert "Traceback" not in err


def described(folder, option):
    """Another machine beside a log: detectors are threads, and each of them reserves addresses that the bound counts."""
    (folder / "host.json").write_text(HOST)
    return ("--host", str(folder / "host.json")) if option == "--log" else ()


@pytest.mark.parametrize("option", ["--log", "--report"])
def test_of_a_log_of_any_length_both_ends_are_read_and_the_rest_is_said_to_be_unread(envcheck, tmp_path, option):
    path = tmp_path / "train.log"
    steps = b"step 1 of 2: loss 0.5, throughput 1.25 samples per second\n" * 300_000
    with path.open("wb") as log:
        log.write(steps)
        log.seek(10 << 30)
        log.write(steps + b"RuntimeError: CUDA error: no kernel image is available for execution on the device\n")
    words = ("doctor", option, str(path), "--format", "json", *described(tmp_path, option))
    code, out, err, peak = envcheck.measured(*words, preexec_fn=bounded)
    assert code in {0, 1}
    assert "Traceback" not in err
    report = json.loads(out)
    assert "arch-too-new-for-build" in [finding["code"] for finding in report["findings"]]
    assert any("first and last 16" in gap["why"] for gap in report["unchecked"])
    assert peak < envcheck.measured("doctor")[3] + MORE


def test_a_pipe_that_gives_more_than_a_log_can_hold_is_refused_with_what_to_give_instead(envcheck, tmp_path):
    code, _, err = envcheck("doctor", "--log", "/dev/zero", *described(tmp_path, "--log"), preexec_fn=bounded)
    assert (code, err) == (2, "envcheck: /dev/zero: is larger than 64 MiB; give its last part: tail -c 60M shows it\n")
