"""Tokens of a text: by a tokenizer of a file, by whatever can be called, and by the bytes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfq_impl.cost import Estimator
from sfq_impl.tokens import NoTokenizer, approximate, tokenizer


@pytest.fixture
def tokenizers() -> Any:
    return pytest.importorskip("tokenizers", reason="needs the package tokenizers, which is optional")


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("ää", 1), ("\ud800", 1)])
def test_four_bytes_are_a_token(text: str, tokens: int) -> None:
    assert approximate(text) == tokens


@given(text=st.text(), other=st.text())
def test_bytes_count_as_their_text_and_more_is_never_less(text: str, other: str) -> None:
    assert approximate(text.encode()) == approximate(text)
    assert approximate(text) <= approximate(text + other) <= approximate(text) + approximate(other)


def test_a_model_may_have_a_counter_of_its_own() -> None:
    estimator = Estimator(counters={"words": lambda text: len(text.split())})
    assert estimator.count("words", "so many words") == estimator.count("words", b"so many words") == 3
    assert estimator.count("words", b"\xff x") == 2
    assert estimator.count("other", "so many words") == estimator.count("other", b"so many words") == 4


def test_a_tokenizer_counts_by_its_vocabulary(tmp_path: Path, tokenizers: Any) -> None:
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"fair": 0, "queues": 1, "?": 2}, unk_token="?"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.post_processor = tokenizers.processors.TemplateProcessing(single="? $A", special_tokens=[("?", 2)])
    made.save(str(tmp_path / "tokenizer.json"))
    counter = tokenizer(tmp_path / "tokenizer.json")
    assert counter("fair queues are fair") == 4
    assert counter("") == 0
    assert Estimator(counters={"m": counter}).count("m", b"fair queues") == 2


def test_a_file_without_a_tokenizer_is_named(tmp_path: Path, tokenizers: Any) -> None:
    (tmp_path / "x.json").write_text("{}")
    for name in ("x.json", "none.json"):
        with pytest.raises(NoTokenizer, match=f"{name} holds no tokenizer: "):
            tokenizer(tmp_path / name)


def test_a_missing_package_is_named_with_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(NoTokenizer, match="needs the package `tokenizers`: pip install tokenizers"):
        tokenizer(Path("tokenizer.json"))
