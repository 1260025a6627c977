"""LangGraph: a SQLite checkpointer, `durability="sync"`, and the payment in a task.

Resumed with `invoke(None, config)`, see "Resuming after an error" in the documentation.
"""

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from outside import DIRECTORY, IS_FIRST, pay_invoice


class ScriptedModel(BaseChatModel):
    """Calls the tool, then answers with its result."""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs) -> ChatResult:
        last = messages[-1]
        if isinstance(last, HumanMessage):
            call = {"name": "pay", "args": {}, "id": "call-1"}
            answer = AIMessage(content="", tool_calls=[call])
        else:
            answer = AIMessage(content=last.content)
        return ChatResult(generations=[ChatGeneration(message=answer)])


@task
def durable_payment() -> str:
    return pay_invoice()


def pay() -> str:
    """Pays the invoice."""
    return durable_payment().result()


def agent(state: MessagesState) -> dict:
    return {"messages": [ScriptedModel().invoke(state["messages"])]}


graph = StateGraph(MessagesState)
graph.add_node("agent", agent)
graph.add_node("tools", ToolNode([pay], handle_tool_errors=False))
graph.add_edge(START, "agent")
graph.add_conditional_edges("agent", tools_condition)
graph.add_edge("tools", "agent")

with SqliteSaver.from_conn_string(str(DIRECTORY / "checkpoints.sqlite")) as checkpointer:
    compiled = graph.compile(checkpointer=checkpointer)
    config = {"configurable": {"thread_id": "order-1"}}
    start = {"messages": [HumanMessage("Pay the invoice.")]} if IS_FIRST else None
    state = compiled.invoke(start, config, durability="sync")
    print(state["messages"][-1].content)
