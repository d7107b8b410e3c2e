"""A language model small enough to be made on the spot: random weights, and a tokenizer that knows every byte.

What it writes means nothing, and a real engine serves it all the same: with batches, slots, streams and usage. It needs
`gguf` and `numpy`, from the extra `demo`.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_letters, digits, punctuation

import gguf
import numpy as np
from numpy.typing import NDArray

HEADS, CONTEXT = 4, 4096
UNKNOWN, BEGIN, END = 0, 1, 2
NORMAL, UNKNOWN_KIND, CONTROL, BYTE = 1, 2, 3, 6
SPACE = "\u2581"
CHAT = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"


def write(path: Path, *, layers: int = 2, width: int = 64, seed: int = 0) -> None:
    """Write the model into a file, the same one for the same arguments. More layers and width make it slower."""
    pieces = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), SPACE]
    kinds = [UNKNOWN_KIND, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL]
    pieces += list(ascii_letters + digits + punctuation)
    kinds += [NORMAL] * (len(pieces) - len(kinds))
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(4 * width)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(width // HEADS)
    writer.add_vocab_size(len(pieces))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([piece.encode() for piece in pieces])
    writer.add_token_scores([-float(index) for index in range(len(pieces))])
    writer.add_token_types(kinds)
    writer.add_bos_token_id(BEGIN)
    writer.add_eos_token_id(END)
    writer.add_unk_token_id(UNKNOWN)
    writer.add_add_bos_token(True)
    writer.add_chat_template(CHAT)
    for name, tensor in _tensors(len(pieces), layers, width, seed):
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _tensors(pieces: int, layers: int, width: int, seed: int) -> list[tuple[str, NDArray[np.float32]]]:
    random = np.random.default_rng(seed)

    def drawn(*shape: int) -> NDArray[np.float32]:
        return (random.standard_normal(shape) * 0.05).astype(np.float32)

    ones = np.ones(width, np.float32)
    tensors = [
        ("token_embd.weight", drawn(pieces, width)),
        ("output_norm.weight", ones),
        ("output.weight", drawn(pieces, width)),
    ]
    for layer in range(layers):
        shapes = {
            **{f"attn_{part}": (width, width) for part in ("q", "k", "v", "output")},
            **{"ffn_gate": (4 * width, width), "ffn_up": (4 * width, width), "ffn_down": (width, 4 * width)},
        }
        named = [("attn_norm", ones), ("ffn_norm", ones), *((part, drawn(*shape)) for part, shape in shapes.items())]
        tensors += [(f"blk.{layer}.{name}.weight", tensor) for name, tensor in named]
    return tensors
