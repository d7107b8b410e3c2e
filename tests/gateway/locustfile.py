"""Users for locust: each streams completions under its own name, and reads them to their end."""

from __future__ import annotations

from itertools import count

from locust import FastHttpUser, task

NUMBERS = count()
BODY = {"prompt": "hello", "max_tokens": 24, "stream": True, "ignore_eos": True}


class Streaming(FastHttpUser):
    """One user of the gateway."""

    def on_start(self) -> None:
        self.headers = {"x-llm-d-inference-fairness-id": f"user-{next(NUMBERS)}"}

    @task
    def stream(self) -> None:
        with self.client.post("/v1/completions", json=BODY, headers=self.headers, catch_response=True) as answer:
            if not (answer.text or "").endswith("data: [DONE]\n\n"):
                answer.failure(f"status {answer.status_code}, and no end")
