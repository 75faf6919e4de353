"""One process of a sum over all GPUs, as a training run starts them: ``all_reduce.py FILE RANK COUNT WORDS``.

It prints one line of JSON: the median seconds of a round, and whether the sums are right.
"""

import json
import sys
import time
from typing import List

# Rounds after three that warm up: the first ones also connect the processes.
ROUNDS = 10


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
    taken, right = [], True
    for _ in range(ROUNDS + 3):
        block = torch.ones(words, device=place)
        together.barrier()
        begun = time.perf_counter()
        together.all_reduce(block)
        if gpus:
            torch.cuda.synchronize()
        taken.append(time.perf_counter() - begun)
        right = right and bool((block == count).all())
    together.destroy_process_group()
    print(json.dumps({"seconds": sorted(taken[3:])[ROUNDS // 2], "right": right}))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
