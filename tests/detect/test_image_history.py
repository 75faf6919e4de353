"""Which layers of an image in a registry are not fetched, and that what is told stays true without them."""

import gzip
import json
import os
from types import SimpleNamespace

import pytest
import requests
from test_image import BASE, CONFIG, UPPER, layer
from test_registry_images import (  # noqa: F401 - fixtures
    ACCOUNT,
    KIND,
    PACKAGES,
    Registry,
    described,
    digest,
    distribution,
    logged_in,
    no_engine_and_no_login,
    registry,
)  # fmt: skip

from compat.app import doctor, hosts
from compat.detect import history
from compat.matrix import matrix
from compat.registry import images

SHELL = "/bin/sh -c #(nop) COPY dir:0123abc in "


def settings(*env, folder="/"):
    return {"config": {"Env": list(env), "WorkingDir": folder}}


@pytest.mark.parametrize(
    ("step", "config", "place"),
    [
        ("COPY models /models # buildkit", settings(), "/models"),
        ("COPY --chown=1000:1000 --link a b /data/sets/ # buildkit", settings(), "/data/sets"),
        ("ADD https://example.org/w.bin /weights # buildkit", settings(), "/weights"),
        (SHELL + "/models ", settings(), "/models"),
        ("COPY models /models # buildkit", settings(folder="/models"), ""),
        ("COPY models /models # buildkit", settings("PATH=/models/.venv/bin:/usr/bin"), ""),
        ("COPY venv /app/.venv # buildkit", settings("PATH=/app/.venv/bin:/usr/bin"), ""),
        ("COPY all /app # buildkit", settings("PYTHONPATH=/app/src"), ""),
        ("COPY venv /opt/venv # buildkit", settings(), ""),
        ("COPY rootfs / # buildkit", settings(), ""),
        ("COPY x ../models # buildkit", settings(), ""),
        ("COPY x $HOME/models # buildkit", settings(), ""),
        ("RUN /bin/sh -c cp -r x /models # buildkit", settings(), ""),
        ("/bin/sh -c echo COPY x /models", settings(), ""),
        ("", settings(), ""),
    ],
)
def test_a_layer_is_apart_only_where_a_copy_alone_made_it_away_from_all_that_is_looked_at(step, config, place):
    assert history.apart({**config, "history": [{"created_by": step}]}, ["one"], "one") == place


def test_a_history_that_does_not_count_the_layers_tells_nothing():
    copied = {"created_by": "COPY models /models # buildkit"}
    for steps in ([copied, copied], [copied, {"empty_layer": True}, copied], [], "COPY", [{"empty_layer": True}]):
        assert history.apart({**settings(), "history": steps}, ["one"], "one") == ""
    assert history.apart({**settings(), "history": [copied, copied]}, ["one", "one"], "one") == ""
    mixed = [{"created_by": "ENV A=1", "empty_layer": True}, copied]
    assert history.apart({**settings(), "history": mixed}, ["one"], "one") == "/models"


def served(server, files, created_by):
    """The image with one more layer between its two; the size of that layer."""
    layers = [gzip.compress(layer(one), mtime=0) for one in (BASE, files, UPPER)]
    steps = ["FROM base", created_by, "RUN pip install torch"]
    config = json.dumps({**CONFIG, "history": [{"created_by": step} for step in steps]}).encode()
    manifest = {"schemaVersion": 2, "config": described(config), "layers": [described(one) for one in layers]}
    server.acts["manifests/1"] = json.dumps(manifest).encode()
    server.acts |= {f"blobs/{digest(one)}": one for one in (config, *layers)}
    return len(layers[1]), f"/v2/team/torch/blobs/{digest(layers[1])}"


@pytest.fixture
def sent(monkeypatch):
    """Bytes of all answers."""
    counted = []
    answer = Registry.answer
    monkeypatch.setattr(
        Registry, "answer", lambda self, code, body, *more: (counted.append(len(body)), answer(self, code, body, *more))
    )
    return counted


NOISE = os.urandom(3 << 20).hex()


def test_a_large_layer_of_data_is_not_fetched_and_the_report_says_so(registry, sent):  # noqa: F811
    size, place = served(registry, {"models/weights.bin": NOISE}, "COPY weights /models # buildkit")
    assert hosts.brought(registry.image, "x86_64").packages == PACKAGES
    assert place not in [path for path, _ in registry.asked]
    assert sum(sent) < 10_000 < size
    found, _ = doctor.examine(doctor.Question(image=registry.image), matrix())
    (gap,) = [gap for gap in found.unchecked if gap.what.startswith("layers of the image")]
    assert f"/models ({size >> 20} MiB)" in gap.why


@pytest.mark.parametrize(
    ("files", "created_by"),
    [
        ({"models/weights.bin": NOISE}, "RUN /bin/sh -c fetch weights # buildkit"),
        ({"models/weights.bin": "small"}, "COPY weights /models # buildkit"),
    ],
)
def test_a_layer_that_may_hold_anything_or_costs_little_is_read(registry, files, created_by):  # noqa: F811
    _, place = served(registry, files, created_by)
    host = hosts.brought(registry.image, "x86_64")
    assert place in [path for path, _ in registry.asked]
    assert (host.packages, host.reading("image").source) == (PACKAGES, "given")


def test_what_a_link_into_such_a_layer_would_tell_is_unknown(registry, monkeypatch):  # noqa: F811
    """A base may link a system's folder to where a later step copies to."""
    from compat.detect import layers

    served(registry, {"models/weights.bin": NOISE}, "COPY weights /models # buildkit")
    lay = layers._lay

    def linked(tree, one):
        lay(tree, one)
        tree["/usr/local/cuda"] = layers.Node("link", target="/models/cuda")

    monkeypatch.setattr(layers, "_lay", linked)
    host = hosts.brought(registry.image, "x86_64")
    assert "links lead to what was not fetched: /models" in host.reading("cuda_toolkit").why


def test_of_debians_registry_no_byte_of_such_a_layer_is_fetched(distribution, monkeypatch, tmp_path):  # noqa: F811
    host, kind = distribution
    if kind == "closed":
        logged_in(monkeypatch, tmp_path, host)
    shelf = SimpleNamespace(acts={})
    size, _ = served(shelf, {"models/weights.bin": NOISE}, "COPY weights /models # buildkit")
    with requests.Session() as session:
        session.auth = ACCOUNT
        for name, body in shelf.acts.items():
            if name.startswith("blobs/"):
                place = session.post(f"http://{host}/v2/team/torch/blobs/uploads/", timeout=20).headers["Location"]
                session.put(place, params={"digest": digest(body)}, data=body, timeout=20).raise_for_status()
        where, body = f"http://{host}/v2/team/torch/manifests/models", shelf.acts["manifests/1"]
        session.put(where, data=body, headers={"Content-Type": KIND}, timeout=20).raise_for_status()
    counted, part = [], images._Until.part

    def counting(self, answer, count):
        found = part(self, answer, count)
        counted.append(len(found))
        return found

    monkeypatch.setattr(images._Until, "part", counting)
    assert hosts.brought(f"{host}/team/torch:models", "x86_64").packages == PACKAGES
    others = [body for body in shelf.acts.values() if len(body) != size]
    assert sum(counted) == sum(map(len, others)) < 10_000 < size
