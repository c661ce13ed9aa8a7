"""Reads a results directory as its users do and prints what it finds as JSON.

Three readers that share no code with the writer: pyarrow (through pandas),
DuckDB, and Python's sqlite3.
"""
import json
import sqlite3
import sys

import duckdb
import pandas as pd
import pyarrow.parquet as pq

found = {}
x = pd.read_parquet("exchanges")
x = x.sort_values(["trial", "side", "seq"])
client = x[(x.side == "client")]
answered = client[client.failure.isna()]
found["pandas"] = {
    "rows": len(x),
    "sides": sorted(x.side.unique()),
    "trials": [int(t) for t in sorted(x.trial.unique())],
    "rtt": int((answered.done_ns - answered.sent_ns).sum()),
    "response": int((answered.done_ns - answered.due_ns).sum()),
    "total": int(x.total_ns.sum()),
    "failures": int(client.failure.notna().sum()),
    "unanswered": int(client.done_ns.isna().sum()),
    "processing": int(x.processing_ns.sum()),
    "first_due": int(client.due_ns.iloc[0]),
}
one = "exchanges/0001-1-client.parquet"
found["types"] = {f.name: str(f.type) for f in pq.read_schema(one) if True}
found["metadata"] = {k.decode(): v.decode() for k, v in pq.read_metadata(one).metadata.items() if k.startswith(b"edgegauge")}

q = duckdb.connect()
rows, rtt, response, total, failures, unanswered, processing = q.execute("""
    SELECT count(*), sum(done_ns - sent_ns) FILTER (failure IS NULL), sum(done_ns - due_ns) FILTER (failure IS NULL), sum(total_ns),
           count(failure) FILTER (side = 'client'), count(*) FILTER (side = 'client' AND done_ns IS NULL), sum(processing_ns)
    FROM 'exchanges/*.parquet'""").fetchone()
found["duckdb"] = {"rows": rows, "rtt": int(rtt), "response": int(response), "total": int(total), "failures": failures,
                   "unanswered": unanswered, "processing": int(processing)}

s = pd.read_parquet("samples")
n, value, seqs, at = q.execute("SELECT count(*), sum(value), count(seq), max(at_ns) FROM 'samples/*.parquet'").fetchone()
found["samples"] = {"rows": len(s), "value": float(s.value.sum()), "at": int(s.at_ns.max()), "of": sorted(set(zip(s.instrument, s.method, s.quantity, s.unit)))}
found["samples_duckdb"] = {"rows": n, "value": value, "seqs": seqs, "at": at}

ledger = sqlite3.connect("file:ledger.sqlite?mode=ro", uri=True)
found["ledger"] = {
    "format": ledger.execute("PRAGMA user_version").fetchone()[0],
    "results": ledger.execute("SELECT trial, response, mean, sd FROM results ORDER BY trial, response").fetchall(),
    "stacks": [r[0] for r in ledger.execute("SELECT treatment ->> '$.stack' FROM trials ORDER BY position")],
}
json.dump(found, sys.stdout)
