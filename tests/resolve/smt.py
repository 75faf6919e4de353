"""The same small questions for z3, a solver that shares nothing with ours: verdicts, cores and the optimum.

Single builds and pairs are judged by the oracle's plain rules; what follows from them together is z3's to find.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oracle import Oracle, Row, Soft, marker_holds, number, satisfies, split
from worlds import PYTHONS

if TYPE_CHECKING:
    from worlds import Question


class Encoding:
    """A question for z3: a boolean per build, Python, place and image, integers for versions of shared dependencies.

    ``newer`` is whether the image brings a newer user-space driver than the host's (forward compatibility).
    """

    def __init__(self, question: Question, oracle: Oracle, z3: Any) -> None:
        self.question, self.oracle, self.z3 = question, oracle, z3
        self.solver = z3.Solver()
        self.soft = {soft: z3.Bool(f"keep {soft}") for soft in oracle.softs}
        self.build = {
            row: z3.Bool(f"{row.package} {place}") for rows in oracle.rows.values() for place, row in enumerate(rows)
        }
        self.python = {minor: z3.Bool(f"python {minor}") for minor in PYTHONS}
        self.place = {name: z3.Bool(name) for name in ("linux_x86_64", "linux_aarch64")}
        self.image = [z3.Bool(f"image {number}") for number, _ in enumerate(question.tables["images"])]
        self.shared = {name: z3.Int(name) for name in ("shared", "common")}
        self.newer = z3.Bool("newer driver")
        self._encode()

    def _encode(self) -> None:
        z3, add = self.z3, self.solver.add
        for version in self.shared.values():
            add(version >= 1, version <= 4)
        add(z3.PbEq([(one, 1) for one in self.python.values()], 1))
        add(z3.PbEq([(one, 1) for one in self.place.values()], 1))
        if "arch" not in self.question.facts:
            add(self.place["linux_x86_64"])
        for rows in self.oracle.rows.values():
            add(z3.AtMost(*[self.build[row] for row in rows], 1))
        self._facts()
        self._builds()
        self._pairs()
        self._images()

    def present(self, name: str) -> Any:
        return self.z3.Or([self.build[row] for row in self.oracle.rows[name]])

    def kept(self, kind: str) -> Any:
        """Whether the one constraint of a kind is kept; false where the question has none."""
        return next((flag for (name, _), flag in self.soft.items() if name == kind), self.z3.BoolVal(False))

    def _facts(self) -> None:
        z3, add, facts = self.z3, self.solver.add, self.question.facts
        if "python" in facts:
            add(z3.Implies(self.kept("python"), self.python[facts["python"]]))
        if "arch" in facts:
            add(z3.Implies(self.kept("arch"), self.place[f"linux_{facts['arch']}"]))
        for soft, flag in self.soft.items():
            if soft[0] == "wish":
                add(z3.Implies(flag, self.present(split(soft[1])[0])))
        add(z3.Implies(self.present("gamma"), self.present("alpha")))

    def _builds(self) -> None:
        z3 = self.z3
        for row, chosen in self.build.items():
            platforms = row.platforms.split()
            needs = [z3.Or([one for name, one in self.place.items() if name in platforms])]
            needs.append(z3.Or([one for minor, one in self.python.items() if minor in row.python.split()]))
            needs.append(z3.BoolVal(row.kind != "cpu"))
            for (kind, text), flag in self.soft.items():
                if not self._alone(row, kind, text):
                    needs.append(z3.Or(z3.Not(flag), self._forwards(row) if kind == "driver" else False))
                if kind == "gpu":
                    needs.append(z3.Or(z3.Not(z3.And(flag, self.kept("driver"))), self._runs(row, int(text))))
            needs += [self._line(*split(line)) for line in row.raw.get("requires", ())]
            self.solver.add(z3.Implies(chosen, z3.And(needs)))

    def _alone(self, row: Row, kind: str, text: str) -> bool:
        """Whether one build goes with one constraint, nothing else asked."""
        facts = {name: value for name, value in self.question.facts.items() if name == kind and kind != "driver"}
        wishes = [text] if kind == "wish" else []
        if kind == "gpu":
            return self.oracle.level(row, self.question.kinds[int(text)]) != 3
        if kind == "driver":
            return self.oracle._driver(row, text)
        return row.kind == "cpu" or self.oracle._alone(row, row.platforms.split()[0], wishes, facts, [])

    def _forwards(self, row: Row) -> Any:
        """Whether a build runs on the newer driver that the image brings."""
        is_fit = row.kind == "cuda" and self.oracle.forwards(row.series, self.question.facts.get("driver"))
        return self.z3.And(self.newer, self.place["linux_x86_64"], is_fit)

    def _runs(self, row: Row, number: int) -> Any:
        """Whether a GPU runs a build's code with the host's driver; code for no such GPU is another constraint's."""
        device, driver = self.question.kinds[number], self.question.facts.get("driver")
        if self.oracle.level(row, device) == 3 or self.oracle._runs(row, device, driver):
            return True
        return self._forwards(row) if self.oracle._runs(row, device, driver, newer=True) else False

    def _line(self, name: str, spec: str, marker: str) -> Any:
        z3 = self.z3
        if name in self.oracle.rows:
            fitting = [self.build[row] for row in self.oracle.rows[name] if satisfies(row.versions, spec)]
            return z3.Or(z3.Not(self.present(name)), *fitting)
        signs = {
            "==": lambda n: self.shared[name] == n,
            ">=": lambda n: self.shared[name] >= n,
            "<=": lambda n: self.shared[name] <= n,
        }
        bounds = []
        for part in filter(None, spec.split(",")):
            strict = part.startswith("<") and not part.startswith("<=")
            bounds.append(self.shared[name] < int(part[1:]) if strict else signs[part[:2]](int(part[2:])))
        when = z3.Or([one for minor, one in self.python.items() if marker_holds(marker, minor)])
        return z3.Implies(when, z3.And(bounds))

    def _pairs(self) -> None:
        rows = list(self.build)
        for place, left in enumerate(rows):
            for right in rows[place + 1 :]:
                if left.package != right.package and not self.oracle._pair(left, right):
                    self.solver.add(self.z3.Not(self.z3.And(self.build[left], self.build[right])))

    def _images(self) -> None:
        z3, facts = self.z3, self.question.facts
        self.solver.add(z3.Or(self.image))
        for chosen, image in zip(self.image, self.question.tables["images"], strict=True):
            arches = image.get("arch", "x86_64").split()
            needs = [z3.Or([self.place[f"linux_{arch}"] for arch in arches])]
            if facts.get("os", image["os"]) != image["os"]:
                needs.append(z3.Not(self.kept("os")))
            if image.get("require") and "driver" in facts and not self.oracle._admits(facts["driver"]):
                cards = [
                    flag
                    for (kind, text), flag in self.soft.items()
                    if kind == "gpu" and self.question.kinds[int(text)].startswith("sm_")
                ]
                needs.append(z3.Not(z3.And(self.kept("driver"), z3.Or(cards))))
            needs.append(z3.Or(z3.Not(self.newer), self._brings(image)))
            needs += [z3.Not(self.build[row]) for row in self.build if not self._carries(image, row)]
            lean = [self.build[row] for row in self.build if row.system]
            if image["repository"] != "ubuntu" and "base" not in image["flavours"]:
                needs.append(z3.Or(lean))
            self.solver.add(z3.Implies(chosen, z3.And(needs)))

    def _brings(self, image: dict[str, str]) -> Any:
        """Whether an image holds the newer driver: NVIDIA's, of the newest CUDA among the builds, for this host."""
        z3, series = self.z3, image["runtime"].removeprefix("cuda")
        if image["repository"] != "nvidia/cuda" or not self.oracle.forwards(series, self.question.facts.get("driver")):
            return False
        cuda = {row: number(row.series) for row in self.build if row.kind == "cuda"}
        own = [self.build[row] for row, other in cuda.items() if other == number(series)]
        later = [self.build[row] for row, other in cuda.items() if other > number(series)]
        return z3.And(self.place["linux_x86_64"], z3.Or(own), z3.Not(z3.Or(later)))

    def _carries(self, image: dict[str, str], row: Row) -> bool:
        arch = image.get("arch", "x86_64").split()[0]
        return self.oracle._image({**image, "require": ""}, (row,), f"linux_{arch}", {}, []) or (
            not row.system and self._has_glibc(image, row)
        )

    def _has_glibc(self, image: dict[str, str], row: Row) -> bool:
        system = next(one for one in self.question.tables["systems"] if one["os"] == image["os"])
        return not row.glibc or number(system["glibc"]) >= number(row.glibc)

    def satisfiable(self, kept: frozenset[Soft]) -> bool:
        if not any(kind == "wish" for kind, _ in kept):
            return True
        return bool(self.solver.check([self.soft[soft] for soft in sorted(kept)]) == self.z3.sat)

    def best(self, prefer: str) -> tuple[Any, ...] | None:
        """The least key among all models, each set of builds asked for once; ``None`` if there is no model."""
        z3, keys = self.z3, []
        self.solver.push()
        self.solver.add([self.soft[soft] for soft in self.oracle.softs])
        while self.solver.check() == z3.sat:
            model = self.solver.model()
            newer = z3.is_true(model.eval(self.newer, model_completion=True))
            rows = tuple(row for row, flag in self.build.items() if z3.is_true(model.eval(flag)))
            wanted = {split(text)[0] for text in self.question.requirements}
            wanted |= {"alpha"} if "gamma" in wanted else set()
            told = tuple(row for row in rows if row.package in wanted)
            keys.append(self.oracle.key(told, newer, prefer))
            same = [self.build[row] for row in told]
            self.solver.add(z3.Not(z3.And([*same, self.newer == newer])))
        self.solver.pop()
        return min(keys, default=None)
