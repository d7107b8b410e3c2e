"""A real vLLM on processors alone, for a model that is made on the spot: `engine.py FOLDER PORT` serves it there.

Run by the Python of build/vllm, which `make vllm` prepares. The model has random weights (vLLM's own dummies) and a
tokenizer that knows every byte, so that nothing is downloaded; what it writes means nothing.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

CONFIG = {  # heads of 32: the least that vLLM has for processors
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-5,
    "vocab_size": 320,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "torch_dtype": "float32",
    "hidden_act": "silu",
    "tie_word_embeddings": False,
}
CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def write(folder: Path) -> None:
    """The files of a model: all but its weights."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {piece: number for number, piece in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken("<s>", special=True), AddedToken("</s>", special=True)])
    tokenizer.save(str(folder / "tokenizer.json"))
    told = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "chat_template": CHAT,
        "model_max_length": CONFIG["max_position_embeddings"],
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(told), encoding="utf-8")
    (folder / "config.json").write_text(json.dumps(CONFIG), encoding="utf-8")


def main(folder: Path, port: str) -> None:
    """Become the server."""
    write(folder)
    quiet = {"HF_HUB_OFFLINE": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    settings = ["--load-format", "dummy", "--dtype", "float32", "--enforce-eager", "--max-num-seqs", "8"]
    served = ["--model", str(folder), "--served-model-name", "tiny", "--host", "127.0.0.1", "--port", port]
    command = [sys.executable, "-m", "vllm.entrypoints.openai.api_server", *served, *settings]
    os.execve(sys.executable, command, os.environ | quiet)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
