"""procrastinate at empty jobs; run by the Python that has it: `peer_procrastinate.py URL JOBS SECONDS`.

Prints jobs a second from the worker's start until the last is done, one at a time.
"""

import asyncio
import sys
import time

import procrastinate


async def main(url: str, count: int) -> None:
    """Store the jobs, then have one worker do them."""
    app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=url))

    @app.task(name="nothing")
    async def nothing(number: int) -> None:
        pass

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        for first in range(0, count, 500):
            several = [{"number": number} for number in range(first, min(count, first + 500))]
            await nothing.batch_defer_async(*several)
        started = time.perf_counter()
        await app.run_worker_async(wait=False, concurrency=1, listen_notify=False)
        print(count / (time.perf_counter() - started))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
