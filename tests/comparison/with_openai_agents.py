"""OpenAI Agents SDK: a `SQLiteSession`, and the `RunState` of a run that waits for an approval.

Without an approval, the SDK has no state of an unfinished run to resume from.
"""

import asyncio

from agents import Agent, Runner, RunState, SQLiteSession, set_tracing_disabled
from agents.decorators import tool
from agents.testing import ModelStep, ScriptedModel, assistant_message, function_call

from outside import DIRECTORY, IS_FIRST, pay_invoice

STATE = DIRECTORY / "state.json"


@tool(needs_approval=True)
def pay() -> str:
    """Pays the invoice."""
    return pay_invoice()


def answer(call) -> list:
    """Calls the tool, then answers with its result."""
    last = call.input[-1]
    if last.get("type") == "function_call_output":
        return [assistant_message(last["output"])]
    return [function_call("pay", {}, call_id="call-1")]


async def main() -> None:
    set_tracing_disabled(True)
    model = ScriptedModel([ModelStep.respond(answer)] * 2)
    agent = Agent(name="clerk", model=model, tools=[pay])
    session = SQLiteSession("order-1", DIRECTORY / "session.sqlite")
    if IS_FIRST:
        result = await Runner.run(agent, "Pay the invoice.", session=session)
        STATE.write_text(result.to_state().to_string())
    state = await RunState.from_string(agent, STATE.read_text())
    for interruption in state.get_interruptions():
        state.approve(interruption)
    result = await Runner.run(agent, state, session=session)
    print(result.final_output)


asyncio.run(main())
