"""foreign.py: asks servers that speak the contract as a program would that knows only openapi.yaml (json: Schemathesis, which makes
requests that the description allows and such that it does not) or services.wsdl (soap11, soap12: Zeep). Reads lines of ENCODING
SERVICE URL; answers each with a line of JSON: {"right": true or false, "said": what the client printed}. Each client is a process of its
own, forked from this one, in a folder of its own: to import Schemathesis and Zeep takes as long as most of their work. What they import
only as they work, this process imports before it forks the next one."""
import contextlib
import importlib
import json
import os
import random
import sys
import tempfile

import schemathesis.cli
import yaml
import zeep
from zeep.transports import Transport

here = os.path.dirname(os.path.abspath(__file__))
seed = os.environ.get("FOREIGN_SEED", "1")
examples = os.environ.get("FOREIGN_EXAMPLES", "40")


def openapi(service):
    """The description of one service in JSON alone."""
    with open(os.path.join(here, "openapi.yaml"), encoding="utf-8") as f:
        d = yaml.safe_load(f)
    d["paths"] = {p: v for p, v in d["paths"].items() if p == "/" + service}
    for operation in d["paths"]["/" + service].values():
        for body in [operation["requestBody"]] + list(operation["responses"].values()):
            if "content" in body:
                body["content"] = {t: c for t, c in body["content"].items() if t == "application/json"}
    with open("openapi.json", "w", encoding="utf-8") as f:
        json.dump(d, f)
    with open("schemathesis.toml", "w", encoding="utf-8") as f:
        f.write("[phases.coverage]\nunexpected-methods = []\n")  # Grizzly loses its place in a connection after a GET with a body


def rest(service, url):
    openapi(service)
    schemathesis.cli.schemathesis(["--no-color", "run", "openapi.json", "--url", url[: -len("/" + service)], "--phases",
                                   "coverage,fuzzing", "--max-examples", examples, "--seed", seed, "--generation-database", "none",
                                   "--request-timeout", "60"])  # exits


def soap(encoding, service, url):
    r = random.Random(int(seed))
    client = zeep.Client(os.path.join(here, "services.wsdl"), transport=Transport(operation_timeout=60))
    version = "11" if encoding == "soap11" else "12"
    bindings = [b for b in client.wsdl.bindings if version in b]
    assert len(bindings) == 1, list(client.wsdl.bindings)
    proxy = client.create_service(bindings[0], url)
    for i in range(10):
        if service == "sort":
            n = [r.randint(-2**31, 2**31 - 1) for _ in range(i * 3)]
            got = proxy.sort(n=n)
            assert list(got or []) == sorted(n), (n, got)
        else:
            sequence = r.randint(-2**31, 2**31 - 1)
            got = proxy.monitor(id="a<&>\u00e9\U0001f600", status=r.randint(-5, 5), sequence=sequence,
                                temperature=r.randint(-10**15, 10**15) / 100, pressure=0.1, running=bool(i % 2), message="x" * i)
            assert got["accepted"] is True and got["sequence"] == sequence, (sequence, got)
    print("10 answers right")


def ask(encoding, service, url):
    """Asks in a process of its own, and returns what it printed and whether all was right."""
    with tempfile.TemporaryDirectory() as folder:
        said, imported = os.path.join(folder, "said"), os.path.join(folder, "imported")
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            to = os.open(said, os.O_WRONLY | os.O_CREAT)
            os.dup2(to, 1)
            os.dup2(to, 2)
            code = 1
            try:
                rest(service, url) if encoding == "json" else soap(encoding, service, url)
                code = 0
            except SystemExit as e:
                code = e.code if isinstance(e.code, int) else int(e.code is not None)
            except BaseException:
                import traceback
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                with contextlib.suppress(OSError), open(imported, "w", encoding="utf-8") as f:
                    f.write("\n".join(sys.modules))
                os._exit(code)
        _, status = os.waitpid(child, 0)
        with contextlib.suppress(OSError), open(imported, encoding="utf-8") as f:
            for name in f.read().split():
                with contextlib.suppress(Exception):
                    importlib.import_module(name)
        with open(said, encoding="utf-8", errors="replace") as f:
            return {"right": status == 0, "said": f.read()}


for line in sys.stdin:
    print(json.dumps(ask(*line.split())), flush=True)
