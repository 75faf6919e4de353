"""``envcheck fit``: proofs that weights cannot fit, bounds where they do, and what real servers logged."""

import json

import pytest

from compat.app.fitting import GIB, Room, cache_bytes, fit
from compat.sources.weights import Weights

LLAMA = {  # config.json of meta-llama/Llama-3.1-8B-Instruct
    "model_type": "llama",
    "num_hidden_layers": 32,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "torch_dtype": "bfloat16",
}
QWEN = {  # of Qwen/Qwen3-235B-A22B-FP8
    **LLAMA,
    "model_type": "qwen3_moe",
    "num_hidden_layers": 94,
    "num_attention_heads": 64,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "sliding_window": None,
    "use_sliding_window": False,
}
DEEPSEEK = {  # of deepseek-ai/DeepSeek-V2-Lite-Chat
    "model_type": "deepseek_v2",
    "num_hidden_layers": 27,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
    "num_attention_heads": 16,
}
# Logs of vLLM that people published: config, cards, tokens of the cache, and GiB of it on one card.
LOGS = {
    # 1952 and 1478 blocks of 16 tokens in 3.81 and 2.89 GiB
    "https://github.com/vllm-project/vllm/issues/10517": [(LLAMA, 1, 31232, 3.81), (LLAMA, 1, 23648, 2.89)],
    "https://github.com/vllm-project/vllm/issues/21348": [(QWEN, 4, 178880, 8.11)],
    "https://github.com/vllm-project/vllm/issues/15871": [(DEEPSEEK, 1, 32768, 0.95)],
}


@pytest.mark.parametrize(("config", "cards", "tokens", "gib"), [case for cases in LOGS.values() for case in cases])
def test_a_cache_is_as_large_as_servers_log_it(config, cards, tokens, gib):
    """Within 1.2 %, and not above what was logged by more than its rounding: the figure is a lower bound."""
    ours = cache_bytes(config, tokens, cards) / GIB
    assert ours == pytest.approx(gib, rel=0.012)
    assert ours <= gib + 0.005


# parameters of the model, bytes of one, cards, GiB that vLLM logged per card
LOADED = {
    "https://github.com/vllm-project/vllm/issues/10517": (8_030_261_248, 2, 1, 14.9888),
    "https://github.com/vllm-project/vllm/issues/13061": (14_770_033_664, 2, 2, 13.9476),
}


@pytest.mark.parametrize(("parameters", "width", "cards", "gib"), LOADED.values())
def test_weights_take_as_much_as_servers_log(parameters, width, cards, gib):
    """Within 1.5 %, and never above: buffers come on top of what a file holds."""
    ours = fit(Weights(parameters * width), (room(80),), {}, cards=cards).weights_gib
    assert ours == pytest.approx(gib, rel=0.015)
    assert ours <= gib


def room(gib, least=None, *, name="D", sure=True):
    return Room(name, gib, gib if least is None else least, sure, unified=False, source=("doc",))


def test_a_window_bounds_the_cache_of_the_layers_that_have_it():
    windowed = LLAMA | {"model_type": "mistral", "sliding_window": 4096}
    assert cache_bytes(windowed, 32768, 1) == cache_bytes(LLAMA, 4096, 1)
    assert cache_bytes(windowed, 1024, 1) == cache_bytes(LLAMA, 1024, 1)
    kinds = ["sliding_attention", "full_attention"] * 16
    half = cache_bytes(windowed | {"layer_types": kinds}, 32768, 1)
    assert half == (cache_bytes(LLAMA, 4096, 1) + cache_bytes(LLAMA, 32768, 1)) // 2
    assert cache_bytes(windowed | {"use_sliding_window": False}, 32768, 1) == cache_bytes(LLAMA, 32768, 1)


def test_heads_are_shared_by_cards_and_a_compressed_cache_is_not():
    assert cache_bytes(LLAMA, 1000, 4) == cache_bytes(LLAMA, 1000, 1) // 4
    assert cache_bytes(LLAMA, 1000, 16) == cache_bytes(LLAMA, 1000, 8)
    assert cache_bytes(DEEPSEEK, 1000, 4) == cache_bytes(DEEPSEEK, 1000, 1)


UNKNOWN = [
    {},
    {"model_type": "mamba2", "num_hidden_layers": 24},
    LLAMA | {"model_type": "jamba"},
    LLAMA | {"model_type": "qwen3_next"},
    LLAMA | {"num_hidden_layers": "32"},
    LLAMA | {"num_attention_heads": None},
    DEEPSEEK | {"kv_lora_rank": None},
]


@pytest.mark.parametrize("config", UNKNOWN)
def test_where_the_rule_is_not_known_the_cache_is_not_either(config):
    assert cache_bytes(config, 1000, 1) == 0
    answer = fit(Weights(GIB), (room(24),), config, context=1000)
    assert (answer.verdict, answer.cache_gib) == ("unknown", None)
    assert fit(Weights(25 * GIB), (room(24),), config, context=1000).verdict == "cannot"


VERDICTS = [
    ({"model": Weights(24 * GIB)}, "weights fit"),
    ({"model": Weights(24 * GIB + 1)}, "cannot"),
    ({"model": Weights(40 * GIB), "places": (room(24), room(24))}, "cannot"),
    ({"model": Weights(40 * GIB), "places": (room(24), room(48))}, "weights fit"),
    ({"model": Weights(40 * GIB), "places": (room(24),), "cards": 2}, "weights fit"),
    ({"model": Weights(50 * GIB), "places": (room(24), room(80)), "cards": 2}, "cannot"),
    ({"model": Weights(60 * GIB), "places": (room(80, 40),)}, "unknown"),
    ({"model": Weights(81 * GIB), "places": (room(80, 40),)}, "cannot"),
    ({"model": Weights(GIB), "places": (room(0),)}, "unknown"),
    ({"model": Weights(30 * GIB), "places": (room(24, sure=False),)}, "unknown"),
    ({"model": Weights(23 * GIB), "config": LLAMA, "context": 32768}, "cannot"),
    ({"model": Weights(19 * GIB), "config": LLAMA, "context": 32768}, "weights fit"),
    ({"model": Weights(2 * GIB, GIB), "train": True}, "weights fit"),
    ({"model": Weights(4 * GIB, 2 * GIB), "train": True}, "weights fit"),
    ({"model": Weights(5 * GIB, 2 * GIB), "train": True}, "cannot"),
]


@pytest.mark.parametrize(("asked", "verdict"), VERDICTS)
def test_the_verdict(asked, verdict):
    given = {"places": (room(24),), "config": {}, **asked}
    answer = fit(given.pop("model"), given.pop("places"), given.pop("config"), **given)
    assert answer.verdict == verdict, answer.why
    if verdict == "cannot":
        assert answer.left_gib <= 0


def test_what_training_takes_is_told():
    answer = fit(Weights(4 * GIB, 2 * GIB), (room(24),), {}, train=True)
    assert (answer.weights_gib, answer.training_gib, answer.left_gib) == (4, 20, 0)
    assert any("Adam" in text for text in answer.conditions)


# words -> exit code, verdict, memory of the card
ASKED = {
    ("15GiB", "--gpu", "RTX 3090"): (0, "weights fit", 24),
    ("30GiB", "--gpu", "RTX 3090"): (1, "cannot", 24),
    ("60GiB", "--gpu", "A100"): (3, "unknown", 80),
    ("12GiB", "--gpu", "H100:1g.10gb"): (1, "cannot", 10),
    ("140GiB", "--gpu", "p5.48xlarge"): (1, "cannot", 80),
    ("140GiB", "--gpu", "p5.48xlarge", "--tensor-parallel", "2"): (0, "weights fit", 80),
    ("30GiB", "--gpu", "RTX 3090,MI300X"): (0, "weights fit", 192),
}


@pytest.mark.parametrize(("words", "expected"), ASKED.items(), ids=str)
def test_what_the_command_answers(envcheck, words, expected):
    code, out, err = envcheck("fit", *words, "--format", "json")
    body = json.loads(out)
    assert (code, body["verdict"], body["usable_gib"]) == expected, err
    code, out, _ = envcheck("fit", *words)
    assert body["why"].split()[0] in out
    assert code == expected[0]


def test_a_file_and_its_config_are_read(envcheck, tmp_path):
    index, config = tmp_path / "model.safetensors.index.json", tmp_path / "config.json"
    index.write_text(json.dumps({"metadata": {"total_size": 16_060_522_496}, "weight_map": {}}))
    config.write_text(json.dumps(LLAMA))
    words = ("fit", str(index), "--config", str(config), "--gpu", "RTX 3090", "--format", "json", "--context")
    assert json.loads(envcheck(*words, "20000")[1])["verdict"] == "weights fit"  # as issue 10517 has it
    code, out, _ = envcheck(*words, "131072")
    assert (code, json.loads(out)["verdict"]) == (1, "cannot")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["15GiB"], "no GPU was named"),
        (["15GiB", "--gpu", "RTX 3091"], "did you mean"),
        (["15GiB", "--gpu", "sm_86"], "a target of many products"),
        (["nothing", "--gpu", "RTX 3090"], "expected a .safetensors"),
        (["15GiB", "--gpu", "RTX 3090", "--config", "nothing"], "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_refused(envcheck, words, said):
    code, out, err = envcheck("fit", *words)
    assert (code, out) == (2, "")
    assert said in err
