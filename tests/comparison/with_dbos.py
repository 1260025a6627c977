"""DBOS: a workflow with two kinds of steps, and SQLite as the system database.

`DBOS.launch` resumes the workflow.
"""

from dbos import DBOS, SetWorkflowID

from outside import DIRECTORY, IS_FIRST, pay_invoice

DBOS(
    config={
        "name": "comparison",
        "system_database_url": f"sqlite:///{DIRECTORY}/dbos.sqlite",
        "run_admin_server": False,
    }
)


@DBOS.step()
def ask_model(messages: list[dict]) -> dict:
    """Calls the tool, then answers with its result."""
    last = messages[-1]
    if last["role"] == "user":
        return {"role": "assistant", "call": "pay"}
    return {"role": "assistant", "content": last["content"]}


@DBOS.step()
def pay() -> str:
    return pay_invoice()


@DBOS.workflow()
def agent(request: str) -> str:
    messages = [{"role": "user", "content": request}]
    while True:
        answer = ask_model(messages)
        messages.append(answer)
        if "call" not in answer:
            return answer["content"]
        messages.append({"role": "tool", "content": pay()})


DBOS.launch()
if IS_FIRST:
    with SetWorkflowID("order-1"):
        agent("Pay the invoice.")
print(DBOS.retrieve_workflow("order-1").get_result())
