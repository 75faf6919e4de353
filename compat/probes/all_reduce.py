"""One process of a sum over all GPUs, as a training run starts them: ``all_reduce.py FILE RANK COUNT WORDS``.

It prints one line of JSON: the seconds of a round in the slowest process, and whether the sums are right.
"""

import json
import sys
import time
from typing import List

from devices import settled


def main(argv: List[str]) -> int:
    """Take part in the sums; each element is one, so that each sum is the number of processes."""
    import torch
    import torch.distributed as together

    rank, count, words = (int(word) for word in argv[1:4])
    gpus = torch.cuda.is_available()
    place = "cuda:%d" % rank if gpus else "cpu"
    if gpus:
        torch.cuda.set_device(rank)
    kind = "nccl" if gpus else "gloo"
    together.init_process_group(kind, init_method="file://" + argv[0], rank=rank, world_size=count)
    right = []

    def once() -> float:
        block = torch.ones(words, device=place)
        together.barrier()
        begun = time.perf_counter()
        together.all_reduce(block)
        if gpus:
            torch.cuda.synchronize()
        taken = torch.tensor([time.perf_counter() - begun], device=place)
        right.append(bool((block == count).all()))
        together.all_reduce(taken, together.ReduceOp.MAX)  # so that all end with the same round
        return float(taken[0])

    seconds = settled(once)
    together.destroy_process_group()
    print(json.dumps({"seconds": seconds, "right": all(right)}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
