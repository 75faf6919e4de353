"""Cost of asking the matrix: compiled JSON, as a wheel has it, against the TOML that an editable install reads.

Each question runs in fresh processes, so that nothing is warm; figures are medians of their process time in ms from the
first question to the answer, imports of the interpreter and of the matrix itself left out.

    python scripts/bench_matrix.py [ROUNDS]
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
QUESTIONS = {
    "nothing": "",
    "cuda 12.8": "m.cuda('12.8')",
    "torch": "m.builds('torch')",
    "torch, drivers, devices": "m.builds('torch'); m.cuda('12.8'); m.families; m.table('drivers')",
    "images of one repository": "m.select('images', repository='nvidia/cuda')",
    "all images": "m.table('images')",
    "gpus": "m.table('gpus')",
    "everything": "[m.table(name) for name in m.names()]",
}
CODE = """
import sys, time; from pathlib import Path
sys.path.insert(0, {root!r})
from compat.matrix import Matrix, store
start = time.process_time()
m = Matrix({store})
{question}
print((time.process_time() - start) * 1e3)
"""


def main() -> None:
    """Measure and print one line per question."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as folder:
        sys.path.insert(0, str(ROOT))
        from compat.matrix import store

        for name, text in store.compile_files((ROOT / "matrix").glob("*.toml")).items():
            Path(folder, name).write_text(text, "utf-8")
        kinds = {
            "compiled": f"store.Compiled(Path({folder!r}))",
            "TOML": f"store.Live(Path({str(ROOT / 'matrix')!r}).glob('*.toml'))",
        }
        print(f"{'question':28}{'compiled':>10}{'TOML':>10}   ms, medians of {rounds} processes")
        for question, code in QUESTIONS.items():
            cells = [_median(CODE.format(root=str(ROOT), store=kinds[kind], question=code), rounds) for kind in kinds]
            print(f"{question:28}" + "".join(f"{cell:10.1f}" for cell in cells))


def _median(code: str, rounds: int) -> float:
    outs = (subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout for _ in range(rounds))
    return statistics.median(float(out) for out in outs)


if __name__ == "__main__":
    main()
