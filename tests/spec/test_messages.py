"""A message that the protocol does not know is told by its field, with what to write there."""

from __future__ import annotations

import pytest

from sfq_spec.conformance import messages
from sfq_spec.conformance.messages import BadMessage
from sfq_spec.conformance.protocol import Capabilities


def hello(capabilities: str = "{}", implementation: str = '{"name":"x"}', protocol: str = "1") -> bytes:
    return f'{{"protocol":{protocol},"implementation":{implementation},"capabilities":{capabilities}}}'.encode()


def told(answers: str, seq: str = "1") -> bytes:
    return f'{{"seq":{seq},"answers":{answers}}}'.encode()


def test_right_ones_are_read() -> None:
    assert messages.hello(hello('{"ties":"any"}')).capabilities == Capabilities(ties="any")
    assert len(messages.told(told('[{}, {"lag":{"A":0.5}}]')).answers) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{}", 'field `protocol` is missing: write {"protocol": 1, "implementation": {"name": "my-sfq"}'),
        (b"[]", "must be an object, and is an array"),
        (b"", "is not JSON: "),
        (b"{'protocol':1}", "is not JSON: "),
        (hello(protocol='"1"'), "field `protocol`: must be a whole number, and is a text"),
        (hello(protocol="1.0"), "field `protocol`: must be a whole number, and is a number with a point or exponent"),
        (hello(implementation='"x"'), "field `implementation`: must be an object, and is a text"),
        (hello(implementation="{}"), "field `implementation.name` is missing: write "),
        (hello('["cancel"]'), "field `capabilities`: must be an object, and is an array"),
        (
            hello('{"cancels":true}'),
            "field `capabilities.cancels` is not known: the fields there are `cancel`, `weights`, `recost`, `lag`, "
            "`ties`, `numbers`",
        ),
        (hello('{"cancel":"yes"}'), "field `capabilities.cancel`: must be true or false, and is a text"),
        (hello('{"ties":"fifo"}'), "field `capabilities.ties`: 'fifo' is none of any, user-id"),
        (hello('{"ties":1}'), "field `capabilities.ties`: must be a text, and is a whole number"),
        (hello('{"numbers":"f64"}'), "field `capabilities.numbers`: 'f64' is none of binary64, integer, rational"),
    ],
)
def test_a_bad_answer_to_start(line: bytes, reason: str) -> None:
    with pytest.raises(BadMessage) as raised:
        messages.hello(line)
    assert str(raised.value).startswith(reason)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"answers":[]}', 'field `seq` is missing: write {"seq": 1, "answers": [{}, {"dispatched": "A1"}]}'),
        (b'{"seq":1,"answer":[]}', "field `answer` is not known: the fields there are `seq`, `answers`, `skipped`"),
        (told("[]", '"1"'), "field `seq`: must be a whole number, and is a text"),
        (told("{}"), "field `answers`: must be an array, and is an object"),
        (told("[{}, null]"), "field `answers[1]`: must be an object, and is null"),
        (told('[{}, {"dispatched":7}]'), "field `answers[1].dispatched`: must be a text or null, and is a whole num"),
        (
            told('[{"refuse":"invalid-cost"}]'),
            "field `answers[0].refuse` is not known: the fields there are `d",
        ),
        (told('[{"refused":true}]'), "field `answers[0].refused`: must be a text, and is true or false"),
        (told('[{"lag":[["A",1]]}]'), "field `answers[0].lag`: must be an object, and is an array"),
        (told('[{"lag":{"A":"x"}}]'), "field `answers[0].lag`: 'x' is not a number: write an integer, a decimal or a"),
        (told('[{"lag":{"A":NaN}}]'), "is not JSON: invalid character"),
        (
            told('[{"lag":{"A":1e99999999999999999999}}]'),
            "field `answers[0].lag[...]`: '1e99999999999999999999' has",
        ),
        (told("[" * 99_999), "field `answers[0]`: must be an object, and is an array"),
        (b'{"x":' + b"[" * 99_999, "field `x` is not known"),
        (b'{"seq":1,"errored":"\xff"}', "is not JSON: Invalid UTF-8 encoded string"),
        (b'{"seq":1,"answers":[]} x', "is not JSON: trailing characters"),
    ],
)
def test_a_bad_answer_to_run(line: bytes, reason: str) -> None:
    with pytest.raises(BadMessage) as raised:
        messages.told(line)
    assert str(raised.value).startswith(reason)


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_json_cannot_hold_is_told(value: str) -> None:
    with pytest.raises(BadMessage, match='write "nan" and "inf", in quotes'):
        messages.told(told(f'[{{"lag":{{"A":{value}}}}}]'))
    with pytest.raises(BadMessage, match=r"^is not JSON: [^;]*$"):
        messages.told(told('[{"lag":{"NaN":1x}}]'))
