"""The SDK's raw event loop over one reply, in a process of its own: prints its CPU seconds.

python benchmarks/_raw_loop.py URL TEXT
"""

import asyncio
import json
import sys
import time

from anthropic import AsyncAnthropic


async def read(url: str, said: str) -> None:
    client = AsyncAnthropic(base_url=url, api_key="none", max_retries=0)
    request = {
        "model": "bench", "max_tokens": 8192, "messages": [{"role": "user", "content": said}],
    }  # fmt: skip
    await client.models.list()  # connections and first use
    deltas, size = 0, 0
    began = time.process_time()
    async for event in await client.beta.messages.create(**request, stream=True):  # type: ignore[call-overload]
        if event.type == "content_block_delta":
            deltas += 1
            size += len(event.delta.text)
    cpu = time.process_time() - began
    print(json.dumps({"cpu": cpu, "deltas": deltas, "characters": size}))


asyncio.run(read(*sys.argv[1:]))
