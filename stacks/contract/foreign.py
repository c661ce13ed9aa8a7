"""foreign.py ENCODING SERVICE URL: asks a server that speaks the contract as a program would that knows only openapi.yaml (json:
Schemathesis, which makes requests that the description allows and such that it does not) or services.wsdl (soap11, soap12: Zeep).
Exits with 1 and says what was wrong."""
import json
import os
import subprocess
import sys
import urllib.parse

here = os.path.dirname(os.path.abspath(__file__))
encoding, service, url = sys.argv[1:]


def openapi():
    """The description of one service in JSON alone."""
    import yaml
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


def rest():
    openapi()
    base = url[: -len("/" + service)]
    st = os.path.join(os.path.dirname(sys.executable), "schemathesis")
    done = subprocess.run([st, "--no-color", "run", "openapi.json", "--url", base, "--phases", "coverage,fuzzing", "--max-examples",
                           os.environ.get("FOREIGN_EXAMPLES", "40"), "--seed", os.environ.get("FOREIGN_SEED", "1"), "--generation-database",
                           "none", "--request-timeout", "60"], check=False)
    sys.exit(done.returncode)


def soap():
    import random
    import zeep
    from zeep.transports import Transport
    r = random.Random(int(os.environ.get("FOREIGN_SEED", "1")))
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


rest() if encoding == "json" else soap()
