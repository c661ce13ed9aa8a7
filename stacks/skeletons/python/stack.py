"""A stack for edgegauge: the services echo and monitor, as JSON over HTTP/1.1.

It speaks the adapter protocol (stacks/PROTOCOL.md): one JSON object per line on
stdin and stdout. Replace the parts marked YOUR FRAMEWORK; keep the timing points.
"""
import http.client
import http.server
import json
import math
import os
import re
import socket
import sys
import threading
import time
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

VERSION = "0.1"  # YOUR FRAMEWORK: its version
JSON = "application/json"
now = time.monotonic_ns


class Refused(Exception):
    """A message that the contract does not allow."""


# Messages generated from a seed (stacks/contract/README.md).

def splitmix(seed):
    mask = (1 << 64) - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        yield z ^ z >> 31


def make(service, seed, n):
    draw = splitmix(seed)
    mixed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    text = lambda count: "".join(mixed[next(draw) % 52] for _ in range(count))
    if service == "echo":
        return {"text": text(n)}
    return {"id": "".join(chr(97 + next(draw) % 26) for _ in range(8)),
            "status": next(draw) % 4,
            "sequence": next(draw) >> 33,
            "temperature": next(draw) % 10000 - 2000,  # decimals are in hundredths
            "pressure": 90000 + next(draw) % 20000,
            "running": next(draw) % 2 == 1,
            "message": text(n)}


REQUEST = {"echo": {"text": "text"},
           "monitor": {"id": "text", "status": "int32", "sequence": "int32", "temperature": "decimal",
                       "pressure": "decimal", "running": "boolean", "message": "text"}}
RESPONSE = {"echo": {"text": "text"},
            "monitor": {"accepted": "boolean", "sequence": "int32"}}


def answer(service, request):
    """The service's own work."""
    if service == "echo":
        return {"text": request["text"]}
    return {"accepted": True, "sequence": request["sequence"]}


# The encoding. YOUR FRAMEWORK: its own serializer, if it writes the canonical form.

def quote(value, kind):
    if kind == "text":
        return json.dumps(value, ensure_ascii=False)
    if kind == "boolean":
        return "true" if value else "false"
    if kind == "decimal":
        return "%s%d.%02d" % ("-" if value < 0 else "", abs(value) // 100, abs(value) % 100)
    return str(value)


def encode(message, fields):
    return ("{" + ",".join('"%s":%s' % (f, quote(message[f], fields[f])) for f in fields) + "}").encode("utf-8")


def no_constant(name):
    raise Refused(name + " is no JSON")


def checked(value, kind, field):
    number = isinstance(value, (int, Decimal)) and not isinstance(value, bool)
    if kind == "text" and isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise Refused("half a surrogate pair in " + field)
        return value
    if kind == "boolean" and isinstance(value, bool):
        return value
    if kind == "int32" and number and abs(value) < 1 << 32:
        if value == int(value) and -(1 << 31) <= value < 1 << 31:
            return int(value)
    if kind == "decimal" and number and abs(value) <= 10**13:
        return int((Decimal(value) * 100).quantize(Decimal(1), rounding=ROUND_HALF_UP))
    raise Refused("no %s in %s" % (kind, field))


def decode(body, fields):
    try:
        message = json.loads(body.decode("utf-8"), parse_float=Decimal, parse_constant=no_constant)
    except (ValueError, RecursionError, InvalidOperation) as e:
        raise Refused("not JSON: %s" % e)
    if not isinstance(message, dict):
        raise Refused("not an object")
    for field in fields:
        if field not in message:
            raise Refused("no " + field)
    return {field: checked(message[field], kind, field) for field, kind in fields.items()}


# The server. YOUR FRAMEWORK: its own server instead of http.server.

def serve(line):
    service, limit = line["service"], line.get("limits", {}).get("body", 16000000)
    delay = line.get("options", {}).get("delay") or "0"
    if not (delay.isascii() and delay.isdecimal() and len(delay) < 19):  # a setting that is not understood is refused, not replaced
        raise Refused('unknown options.delay "%s"; write nanoseconds, such as 1000000' % delay)
    delay = int(delay)  # ns that slow the service, to test the lab
    records, sending, lock = [], 0, threading.Condition()

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # header and body in one write: with two, Nagle and delayed acknowledgements cost 40 ms
        disable_nagle_algorithm = True

        def respond(self, status, body, kind=JSON):
            self.send_response_only(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if status >= 400:
                self.send_header("Connection", "close")
                self.close_connection = True
            self.end_headers()
            self.wfile.write(body)

        def refuse(self, status, why):
            self.respond(status, (why + "\n").encode("utf-8", "replace"), "text/plain")

        def do_POST(self):
            nonlocal sending
            length = self.headers.get("Content-Length", "")
            if self.path != "/" + service:
                return self.refuse(404, "only /%s is served" % service)
            if self.headers.get_content_type() != JSON:
                return self.refuse(415, "send " + JSON)
            if not re.fullmatch("[0-9]+", length):
                return self.refuse(411, "send Content-Length")
            if int(length) > limit:
                return self.refuse(413, "the body is larger than the limit")
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                return self.refuse(400, "the body is shorter than announced")
            begun = now()  # the request is complete
            try:
                request = decode(body, REQUEST[service])
            except Refused as e:
                return self.refuse(400, str(e))
            decoded = now()
            if delay:
                time.sleep(delay / 1e9)
            response = answer(service, request)
            answered = now()
            out = encode(response, RESPONSE[service])
            encoded = now()
            with lock:  # the client may have its answer, and ask for the report, before the record is there
                sending += 1
            try:
                self.respond(200, out)
                with lock:
                    records.append({"deserialization": decoded - begun, "processing": answered - decoded,
                                    "serialization": encoded - answered, "total": now() - begun,
                                    "in": len(body), "out": len(out)})
            finally:  # also if the client has gone
                with lock:
                    sending -= 1
                    lock.notify_all()

        def do_GET(self):
            self.refuse(405, "only POST is served")

        do_PUT = do_DELETE = do_PATCH = do_HEAD = do_GET

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in line["host"] else socket.AF_INET
        daemon_threads = True
        request_queue_size = 128  # with Python's 5, clients that connect at once wait for seconds

    server = Server((line["host"], line.get("port", 0)), Handler)  # this host only
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = "[%s]" % line["host"] if ":" in line["host"] else line["host"]
    ready(url="http://%s:%d/%s" % (host, server.server_address[1], service))
    for ask in lines():
        if ask["type"] != "report":
            raise Refused('no type "%s" while serving; send report' % ask["type"])
        with lock:
            lock.wait_for(lambda: sending == 0, timeout=1)
            taken = records[:]
            records.clear()
        if not ask.get("discard"):
            for seq, record in enumerate(taken, 1):
                say(type="exchange", seq=seq, **record)
        say(type="end", count=len(taken))


# The client. YOUR FRAMEWORK: its own client instead of http.client.

def call(line):
    service, message = line["service"], line["message"]
    if line["connection"] not in ("keep-alive", "per-request"):
        raise Refused('no connection "%s"; there are keep-alive, per-request' % line["connection"])
    if message.get("letters") or message.get("max"):
        raise Refused("letters and max are for concat and sum, which are not served here")
    request = make(service, message["seed"], message["n"])
    expected = answer(service, request)
    url = re.fullmatch(r"http://(\[[^]]+\]|[^:/]+):(\d+)(/.*)", line["url"])
    if not url:
        raise Refused("not an HTTP URL: " + line["url"])
    connection = None
    host, port, path, timeout = url[1].strip("[]"), int(url[2]), url[3], line.get("timeout", 30 * 10**9) / 1e9

    def once(x):
        """Sends one request and fills x; raises an error if it fails."""
        nonlocal connection
        begun = now()
        body = encode(request, REQUEST[service])
        x["serialization"], x["out"] = now() - begun, len(body)
        if connection is None:
            opening = now()
            connection = http.client.HTTPConnection(host, port, timeout=timeout)
            connection.connect()
            x["connection"] = now() - opening
        x["sent"] = now()
        connection.request("POST", path, body, {"Content-Type": JSON})
        response = connection.getresponse()
        got = response.read()
        x["done"], x["in"] = now(), len(got)
        if response.status != 200:
            raise Refused("status %d: %s" % (response.status, got[:100].decode("utf-8", "replace").strip()))
        if response.headers.get_content_type() != JSON:
            raise Refused("the answer is %s" % response.headers.get_content_type())
        decoding = now()
        received = decode(got, RESPONSE[service])
        x["deserialization"] = now() - decoding
        x["total"] = now() - begun  # to close the connection and to check the answer are no part of it
        if line["connection"] == "per-request" or response.will_close:
            hang_up()
        if received != expected:
            raise Refused("the answer is %s, not %s" % (str(received)[:100], str(expected)[:100]))

    def hang_up():
        nonlocal connection
        if connection is not None:
            connection.close()
        connection = None

    def run(ask):
        if ask.get("concurrency", 1) > 1:
            raise Refused("there is one connection; set concurrency to 1")
        if ask.get("arrival", "constant") not in ("", "constant"):
            raise Refused('no arrival "%s"; there is constant' % ask["arrival"])
        most, last = ask.get("requests") or math.inf, ask.get("duration") or math.inf
        if most == last == math.inf:
            raise Refused("the run has no end; give requests or duration")
        pace = 1e9 / ask["rate"] if ask.get("rate") else ask.get("interval", 0)
        records, count, failures, start = [], 0, [], now()
        while count < most:
            due = round(count * pace) if pace else now() - start
            if due >= last or not ask.get("rate") and now() - start >= last:  # at a rate, what is due is sent, if late
                break
            left = due - (now() - start)
            if left > 0:
                time.sleep(left / 1e9)
            x, begun, count = {"seq": count + 1, "due": due}, now(), count + 1
            try:
                once(x)
            except (Refused, OSError, http.client.HTTPException) as e:
                x["failure"] = str(e) or type(e).__name__
                x.setdefault("total", now() - begun)  # it failed before it was decoded
                hang_up()
            for instant in "sent", "done":
                if instant in x:
                    x[instant] -= start
            if "failure" in x:
                failures.append(x["failure"])
            if ask.get("record"):  # printed after the last request: no output in between
                records.append(x)
        for x in records:
            say(type="exchange", **x)
        if failures and not ask.get("record"):  # no record tells of them
            say(type="end", count=count, failed=len(failures), first_failure=failures[0])
        else:
            say(type="end", count=count)

    ready()
    for ask in lines():
        if ask["type"] != "run":
            raise Refused('no type "%s" while calling; send run' % ask["type"])
        run(ask)


# The adapter protocol.

def lines():
    for line in sys.stdin:
        if line.strip():
            yield json.loads(line)


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    if what["type"] != "exchange" or what["seq"] == 1:  # the lab reads the run's CPU time when its first record comes
        sys.stdout.flush()


def ready(**more):
    say(type="ready", version=VERSION, runtime="Python " + sys.version.split()[0], **more)


def main(verb):
    line = next(lines(), None)
    if line is None:
        return
    if line["type"] != verb:
        raise Refused('first line is "%s"; send "%s"' % (line["type"], verb))
    for what, value, have in (("protocol", line.get("protocol"), [1]),
                              ("service", line["service"], list(REQUEST)),
                              ("encoding", line["encoding"], ["json"]),
                              ("security", line["security"], ["none"]),
                              ("transport", line["transport"], ["http"])):
        if value not in have:
            raise Refused('no %s "%s"; there are %s' % (what, value, ", ".join(map(str, have))))
    {"serve": serve, "call": call}[verb](line)


if __name__ == "__main__":
    try:
        main(sys.argv[1])
    except Exception as e:  # of any kind: the lab must read the reason
        say(type="error", message=" ".join(str(e).split()) or type(e).__name__)
        sys.stdout.flush()
        os._exit(1)
    os._exit(0)  # the end of stdin ends the program, even if threads still run
