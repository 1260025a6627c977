"""Calls this project's server with the official Python client: python client.py PROGRAM.

Prints a line for each check: the client, the check, and `ok` or the failure, separated by tabs.
"""

import asyncio
import os
import signal
import subprocess
import sys

from mcp import Client, StdioServerParameters

PROGRAM = sys.argv[1]
ERAS = {"2025-11-25": "legacy", "2026-07-28": "2026-07-28"}


def expect(condition, value):
    if not condition:
        raise AssertionError(f"unexpected: {value!r}")


async def text(client, name, arguments=None):
    result = await client.call_tool(name, arguments or {})
    expect(not result.is_error and result.content[0].type == "text", result)
    return result.content[0].text


async def lists(client):
    names = sorted(tool.name for tool in (await client.list_tools()).tools)
    expect(names == ["dropped", "echo", "endless", "fail", "pixel", "process_id", "sum"], names)


async def calls(client):
    expect(await text(client, "echo", {"text": "hello"}) == "hello", "another text")


async def receives_error(client):
    result = await client.call_tool("fail", {})
    expect(result.is_error and "sold out" in result.content[0].text, result)


async def receives_image(client):
    [block] = (await client.call_tool("pixel", {})).content
    expect(block.type == "image" and block.mime_type == "image/png" and len(block.data) > 50, block)


async def receives_structured_content(client):
    result = await client.call_tool("sum", {"a": 1, "b": 2})
    expect(result.structured_content == {"sum": 3}, result)


async def cancels_after_progress(client):
    """Cancels a call that reports progress; the tool is dropped."""
    seen, ready = [], asyncio.Event()

    async def on_progress(progress, total, message):
        seen.append((progress, total))
        if len(seen) == 3:
            ready.set()

    call = asyncio.create_task(client.call_tool("endless", {}, progress_callback=on_progress))
    await asyncio.wait({call, asyncio.create_task(ready.wait())}, return_when=asyncio.FIRST_COMPLETED)
    expect(not call.done(), call)
    call.cancel()
    expect(seen == [(1.0, 3.0), (2.0, 3.0), (3.0, 3.0)], seen)
    for _ in range(100):
        if await text(client, "dropped") == "1":
            return
        await asyncio.sleep(0.05)
    raise AssertionError("the tool still runs")


async def survives_kill(client):
    server = int(await text(client, "process_id"))

    async def on_progress(progress, total, message):
        if progress == 1:
            os.kill(server, signal.SIGKILL)

    try:
        result = await client.call_tool("endless", {}, 10, on_progress)
    except Exception:
        return
    raise AssertionError(f"the call succeeded: {result!r}")


CHECKS = {
    "list": lists,
    "call": calls,
    "error": receives_error,
    "image": receives_image,
    "structured": receives_structured_content,
    "progress, cancel": cancels_after_progress,
    "killed": survives_kill,
}


async def check_server(check, server, mode):
    finished = False
    try:
        async with asyncio.timeout(30):
            async with Client(server, mode=mode) as client:
                await check(client)
                finished = True
    except BaseException as error:
        # The end of a killed connection is an error of its own.
        if not (finished and check is survives_kill):
            return " ".join(f"{type(error).__name__} {error}".split())
    return "ok"


async def run(over, check, mode):
    if over == "stdio":
        return await check_server(check, StdioServerParameters(command=PROGRAM, args=["stdio"]), mode)
    server = subprocess.Popen([PROGRAM, "http"], stdout=subprocess.PIPE, text=True)
    try:
        return await check_server(check, server.stdout.readline().strip(), mode)
    finally:
        server.kill()
        server.wait()


for over in ("stdio", "http"):
    for era, mode in ERAS.items():
        for name, check in CHECKS.items():
            outcome = asyncio.run(run(over, check, mode))
            print(f"client python {over} {era}\t{name}\t{outcome}", flush=True)
