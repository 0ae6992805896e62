"""A chain of steps in LangGraph that each replace a text, with its SQLite checkpointer.

Usage: peer.py FILE STEPS BYTES. Prints the microseconds of a step. What `make bench` holds our steps against,
where the packages `langgraph` and `langgraph-checkpoint-sqlite` can be installed.
"""

import sqlite3
import sys
import time
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class State(TypedDict):
    at: int
    notes: str


def main(file: str, steps: int, size: int) -> None:
    def step(state: State) -> State:
        return {"at": state["at"] + 1, "notes": "abcdefgh"[state["at"] % 8] * size}

    graph = StateGraph(State)
    graph.add_node("step", step)
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: END if state["at"] >= steps else "step")
    with sqlite3.connect(file, check_same_thread=False) as connection:
        chain = graph.compile(checkpointer=SqliteSaver(connection))

        def run(thread: str, begin: int) -> float:
            config = {"configurable": {"thread_id": thread}, "recursion_limit": steps + 10}
            began = time.perf_counter()
            chain.invoke({"at": begin, "notes": ""}, config)
            return time.perf_counter() - began

        run("warm", steps - 20)
        print(round(run("measured", 0) * 1e6 / steps, 1))


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
