#!/usr/bin/env python3
"""Makes golden/ from README.md, services.xsd and services.proto, without a line of the Go code it tests.

    python3 -m venv ENV
    ENV/bin/pip install cbor2==6.2.1 msgpack==1.2.4 protobuf==7.36.2 grpcio-tools==1.85.1 lxml==6.1.3
    ENV/bin/python stacks/contract/golden.py           writes golden/
    ENV/bin/python stacks/contract/golden.py --check   compares, and exits 1 if anything differs

golden/SERVICE-N-SEED[-WIDTH].SIDE.ENCODING     the canonical bytes
golden/SERVICE-WHAT.SIDE.ENCODING               values no seed draws: edges of ranges, characters that need escapes
golden/variants/MESSAGE.SIDE.WHAT.ENCODING      other bytes that mean golden/MESSAGE.SIDE; a decoder takes them
golden/refused/SERVICE.SIDE.WHAT.ENCODING       what a decoder refuses
golden/faults/WHAT.ENCODING                     SOAP faults; faults.txt says code and reason
golden/sums.txt                                 SHA-256 and length of the canonical bytes of larger messages
The sensor reads 21.50 °C at 1700000000000 ms.
"""
import base64, hashlib, importlib, json, pathlib, struct, sys, tempfile
from xml.etree import ElementTree

import cbor2, msgpack
from grpc_tools import protoc
from importlib.metadata import version
from lxml import etree

HERE = pathlib.Path(__file__).parent
NS = "urn:edgegauge:services:1"
MASK = 2**64 - 1
SOAP = {"soap11": "http://schemas.xmlsoap.org/soap/envelope/", "soap12": "http://www.w3.org/2003/05/soap-envelope"}
ENCODINGS = ["xml", "json", "cbor", "msgpack", "pb", "soap11", "soap12", "text"]
SERVICES = ["sort", "concat", "sum", "echo", "temperature", "monitor", "io", "memory"]


class Hundredths(int):
    """A decimal k/100 as its k."""

    def text(self):
        return "%s%d.%02d" % ("-" if self < 0 else "", abs(self) // 100, abs(self) % 100)


# Messages: a dict of fields in the order of the contract.

class SplitMix64:
    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def word(self, n):
        return "".join(chr(ord("a") + self.next() % 26) for _ in range(n))

    def letters(self, n):
        both = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + "abcdefghijklmnopqrstuvwxyz"
        return "".join(both[self.next() % 52] for _ in range(n))

    def bytes(self, n):
        return b"".join(struct.pack("<Q", self.next()) for _ in range(-(-n // 8)))[:n]


def request(service, n, seed, letters=0, max=0):
    r = SplitMix64(seed)
    match service:
        case "sort":
            return {"n": [r.next() >> 33 for _ in range(n)]}
        case "concat":
            return {"s": [r.word(letters or 8 + r.next() % 9) for _ in range(n)]}
        case "sum":
            return {"x": [Hundredths(r.next() % (max or 100000)) for _ in range(n)]}
        case "echo":
            return {"text": r.letters(n)}
        case "temperature":
            return {}
        case "monitor":
            return {"id": r.word(8), "status": r.next() % 4, "sequence": r.next() >> 33,
                    "temperature": Hundredths(r.next() % 10000 - 2000), "pressure": Hundredths(90000 + r.next() % 20000),
                    "running": r.next() % 2 == 1, "message": r.letters(n)}
        case "io" | "memory":
            return {"data": r.bytes(n)}


def chase(data):
    h, i = 14695981039346656037, 0
    for _ in data:
        h = ((h ^ data[i]) * 1099511628211) & MASK
        i = h % len(data)
    return struct.pack(">Q", h)


def response(service, q):
    match service:
        case "sort":
            return {"n": sorted(q["n"])}
        case "concat":
            return {"text": "".join(q["s"])}
        case "sum":
            return {"total": Hundredths(sum(q["x"]))}
        case "echo":
            return {"text": q["text"]}
        case "temperature":
            return {"celsius": Hundredths(2150), "time": 1700000000000}
        case "monitor":
            return {"accepted": True, "sequence": q["sequence"]}
        case "io":
            return {"digest": hashlib.sha256(q["data"]).digest()}
        case "memory":
            return {"digest": chase(q["data"])}


# Canonical bytes.

def xml_text(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, Hundredths):
        return v.text()
    if isinstance(v, bytes):
        return base64.b64encode(v).decode()
    return str(v).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\r", "&#xD;")


def values(v):
    return v if isinstance(v, list) else [v]


def xml(root, m):
    body = "".join(f"<{k}>{xml_text(v)}</{k}>" for k, vs in m.items() for v in values(vs))
    text = f'<{root} xmlns="{NS}">{body}</{root}>'
    valid(text)
    if ElementTree.canonicalize(text) != text:
        raise SystemExit(f"{root}: not canonical XML: {text[:200]}")
    return text.encode()


SCHEMA = etree.XMLSchema(etree.parse(HERE / "services.xsd"))


def valid(text):
    SCHEMA.assertValid(etree.fromstring(text if isinstance(text, bytes) else text.encode(), etree.XMLParser(huge_tree=True)))


def soap(kind, root, m):
    inner = xml(root, m).decode()
    return f'<soap:Envelope xmlns:soap="{SOAP[kind]}"><soap:Body>{inner}</soap:Body></soap:Envelope>'.encode()


def json_value(v):
    if isinstance(v, dict):
        return json.dumps(v)
    if isinstance(v, list):
        return "[" + ",".join(map(json_value, v)) + "]"
    if isinstance(v, Hundredths):
        return v.text()
    if isinstance(v, bytes):
        v = base64.b64encode(v).decode()
    return json.dumps(v, ensure_ascii=False)


def json_bytes(m):
    text = "{" + ",".join(f'"{k}":{json_value(v)}' for k, v in m.items()) + "}"
    json.loads(text)
    return text.encode()


def line(v):
    text = v.replace("\\", "\\\\").replace("\n", "\\n") if isinstance(v, str) else xml_text(v)
    return text.encode() + b"\n"


def lines(m):
    return b"".join(line(v) for vs in m.values() for v in values(vs))


def plain(v):
    """Decimals as doubles, for the binary encodings."""
    if isinstance(v, dict):
        return {k: plain(x) for k, x in v.items()}
    if isinstance(v, list):
        return [plain(x) for x in v]
    return int(v) / 100 if isinstance(v, Hundredths) else v


def compile_proto(name, text):
    folder = tempfile.TemporaryDirectory()
    (pathlib.Path(folder.name) / f"{name}.proto").write_text(text)
    if protoc.main(["protoc", f"-I{folder.name}", f"--python_out={folder.name}", f"{name}.proto"]):
        raise SystemExit("protoc did not take " + name)
    sys.path.insert(0, folder.name)
    module = importlib.import_module(f"{name}_pb2")
    sys.path.pop(0)
    folder.cleanup()
    return module


PROTO = (HERE / "services.proto").read_text()
SERVICES_PB = compile_proto("golden_services", PROTO)
# In a pool of names of its own: the same messages, unpacked; and with fields the contract does not know.
UNPACKED_PB = compile_proto("golden_unpacked", PROTO.replace("package edgegauge;", "package unpacked;").replace(" [packed = true]", ""))
UNKNOWN_PB = compile_proto("golden_unknown", """syntax = "proto2"; package unknown;
message Unknown { optional int32 a = 100; optional fixed32 b = 101; optional double c = 102; optional string d = 103;
  optional group E = 104 { optional int32 f = 1; optional group G = 2 { optional string h = 3; } } repeated int32 i = 105; }""")


def pb_message(module, service, side, m):
    p = getattr(module, service.capitalize() + ("Response" if side == "response" else ""))()
    for k, v in plain(m).items():
        getattr(p, k).extend(v) if isinstance(v, list) else setattr(p, k, v)
    return p


def encode(encoding, service, side, m):
    root = service + ("Response" if side == "response" else "")
    match encoding:
        case "xml":
            return xml(root, m)
        case "json":
            return json_bytes(m)
        case "cbor":
            return cbor2.dumps(plain(m))
        case "msgpack":
            return msgpack.packb(plain(m), use_bin_type=True)
        case "pb":
            return pb_message(SERVICES_PB, service, side, m).SerializeToString()
        case "text":
            return lines(m)
        case _:
            return soap(encoding, root, m)


# Other bytes of the same meaning.

def nested(depth, value="deep"):
    for _ in range(depth):
        value = [value]
    return value


UNKNOWN = {"later": nested(20), "": {"": None, "x": [True, False, -1, 2**40, 1.5, "é", {}]}}


def shuffled(m, unknown):
    out = dict(reversed(list(m.items())))
    return {"aaa": 1, **out, **unknown} if unknown else out


def xml_variants(service, side, m):
    root = service + ("Response" if side == "response" else "")
    each = [(k, v, xml_text(v)) for k, vs in m.items() for v in values(vs)]

    def cdata(k, v, t):
        return f"<{k}><![CDATA[{v}]]></{k}>" if isinstance(v, str) else f"<{k}> {t}\n</{k}>"

    def references(k, v, t):
        if isinstance(v, str):
            return f"<{k}>" + "".join(f"&#{ord(c)};" if i % 2 else f"&#x{ord(c):X};" for i, c in enumerate(v)) + f"</{k}>"
        if isinstance(v, Hundredths):
            return f"<{k}>+0{t}40</{k}>" if v >= 0 else f"<{k}>{t}40</{k}>"
        return f"<{k}>{t[:2]}<!-- within -->{t[2:]}</{k}>" if not isinstance(v, bytes) else f"<{k}>{chr(10).join(t[i:i+4] for i in range(0, len(t), 4))}</{k}>"

    yield "prefixed", f"<e:{root} xmlns:e='{NS}'>" + "".join(f"<e:{k}>{t}</e:{k}>" for k, _, t in each) + f"</e:{root}>"
    yield "rebound", f'<a:{root} xmlns:a="{NS}" xmlns="urn:other">' + "".join(
        f'<{k} xmlns="{NS}">{t}</{k}>' if i % 2 else f'<b:{k} xmlns:b="&#x75;rn:edgegauge:services:1">{t}</b:{k}>' for i, (k, _, t) in enumerate(each)) + f"</a:{root}>"
    yield "pretty", f'\ufeff<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<!-- a comment -->\n<?robots no?>\n<{root}\n    xmlns="{NS}"\n    xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="{NS} services.xsd">' + ("\r\n" if each else "") + "".join(
        f"\t<{k}  >{t}</{k}\n>\n<!-- - -->" for k, _, t in each) + f"</{root} >\n<!-- after -->\n"
    yield "cdata", f'<{root} xmlns="{NS}">' + "".join(cdata(*x) for x in each) + f"</{root}>"
    yield "references", f'<{root} xmlns="{NS}">' + "".join(references(*x) for x in each) + f"</{root}>"
    if not each or all(t == "" for _, _, t in each):
        yield "empty", f'<{root} xmlns="{NS}"' + ("/>" if not each else ">" + "".join(f"<{k} />" for k, _, _ in each) + f"</{root}>")


def soap_variants(kind, service, side, m):
    inner = xml(service + ("Response" if side == "response" else ""), m).decode()
    space = SOAP[kind]
    yield "header", (f'<?xml version="1.0" encoding="utf-8"?><S:Envelope xmlns:S="{space}" xmlns:xsd="http://www.w3.org/2001/XMLSchema">'
                     f'<S:Header><t:trace xmlns:t="urn:trace" S:mustUnderstand="0"><t:id>1</t:id></t:trace>'
                     f'<t:other xmlns:t="urn:trace" S:mustUnderstand="1" S:{"actor" if kind == "soap11" else "role"}="urn:someone:else"/></S:Header>\n<S:Body>\n{inner}\n</S:Body>\n</S:Envelope>\n')
    yield "default", f'<Envelope xmlns="{space}"><Header/><Body>{inner}</Body></Envelope>'


def json_escaped(m):
    text = json_bytes(m).decode()
    out = json.dumps(json.loads(text, parse_float=lambda s: s + "e0e0"), indent=2, ensure_ascii=True)
    for k, v in m.items():
        for x in values(v):
            if isinstance(x, Hundredths):
                out = out.replace(f'"{x.text()}e0e0"', f"{int(x)}E-2", 1)
    return out.replace("/", "\\/")


def cbor_indefinite(v):
    if isinstance(v, dict):
        return b"\xbf" + b"".join(cbor_indefinite(k) + cbor_indefinite(x) for k, x in v.items()) + b"\xff"
    if isinstance(v, list):
        return b"\x9f" + b"".join(map(cbor_indefinite, v)) + b"\xff"
    if isinstance(v, (str, bytes)):
        head = b"\x7f" if isinstance(v, str) else b"\x5f"
        return head + b"".join(cbor2.dumps(v[i:i + 3]) for i in range(0, len(v), 3)) + b"\xff"
    if isinstance(v, int) and not isinstance(v, bool):
        return struct.pack(">BQ", 0x1b if v >= 0 else 0x3b, v if v >= 0 else -1 - v)
    return cbor2.dumps(v)


def whole(v):
    """Decimals that are whole as integers."""
    if isinstance(v, dict):
        return {k: whole(x) for k, x in v.items()}
    if isinstance(v, list):
        return [whole(x) for x in v]
    return int(v) // 100 if isinstance(v, Hundredths) and v % 100 == 0 else plain(v)


def float32(v):
    if isinstance(v, dict):
        return bytes([0xa0 | len(v)]) + b"".join(cbor2.dumps(k) + float32(x) for k, x in v.items())
    if isinstance(v, list):
        head = cbor2.dumps([0] * len(v))  # each 0 is one byte
        return head[:len(head) - len(v)] + b"".join(map(float32, v))
    return b"\xfa" + struct.pack(">f", int(v) / 100) if isinstance(v, Hundredths) else cbor2.dumps(v)


def variants(service, side, m):
    for what, text in xml_variants(service, side, m):
        valid(text.encode())
        yield what, "xml", text.encode()
    for kind in SOAP:
        for what, text in soap_variants(kind, service, side, m):
            yield what, kind, text.encode()
    decimals = any(isinstance(x, Hundredths) for v in m.values() for x in values(v))
    yield "unknown", "json", json_bytes(shuffled(m, UNKNOWN))
    yield "escaped", "json", json_escaped(m).encode()
    if m:
        k, v = next(iter(m.items()))
        other = v[:1] * 2 if isinstance(v, list) else {str: "other", bytes: b"other", bool: False}.get(type(v), Hundredths(-1) if isinstance(v, Hundredths) else -1)
        yield "twice", "json", b"{" + json_bytes({k: other})[1:-1] + b"," + json_bytes(m)[1:]
        yield "twice", "msgpack", bytes([0x80 | len(m) + 1]) + msgpack.packb({k: plain(other)})[1:] + msgpack.packb(plain(m))[1:]
        if not isinstance(v, list):  # repeated values add up in protobuf
            yield "twice", "pb", pb_message(SERVICES_PB, service, side, {k: other}).SerializeToString() + pb_message(SERVICES_PB, service, side, m).SerializeToString()
    yield "unknown", "cbor", cbor2.dumps(shuffled(plain(m), {**UNKNOWN, 7: cbor2.CBORTag(1, 0), b"k": 1.5, "f": cbor2.undefined}))
    yield "indefinite", "cbor", cbor_indefinite(plain(m))
    yield "unknown", "msgpack", msgpack.packb(shuffled(plain(m), {**UNKNOWN, 7: msgpack.ExtType(5, b"1234"), "ext": msgpack.ExtType(6, b"12345"), b"k": 1.5}), use_bin_type=True)
    if decimals:
        yield "shortest", "cbor", cbor2.dumps(plain(m), canonical=True)  # floats of 16 bits where they are exact
        yield "float32", "cbor", float32(m)
        yield "integers", "cbor", cbor2.dumps(whole(m))
        yield "float32", "msgpack", msgpack.packb(plain(m), use_single_float=True)
        yield "integers", "msgpack", msgpack.packb(whole(m))
    extra = UNKNOWN_PB.Unknown(a=-1, b=2, c=3.5, d="é", i=[1, 300])
    extra.e.f, extra.e.g.h = 4, "deep"
    p = pb_message(SERVICES_PB, service, side, m)
    yield "unknown", "pb", extra.SerializeToString() + p.SerializeToString() + extra.SerializeToString()
    yield "unpacked", "pb", pb_message(UNPACKED_PB, service, side, m).SerializeToString()
    pieces = [{k: [x]} for k, v in m.items() if isinstance(v, list) for x in v] or [{k: v} for k, v in reversed(m.items())]
    if any(isinstance(v, Hundredths) for vs in m.values() for v in values(vs)):
        yield "places", "text", b"".join(line(v)[:-1] + b"004\n" if isinstance(v, Hundredths) else line(v) for vs in m.values() for v in values(vs))
    if any(type(v) is int for vs in m.values() for v in values(vs)):
        yield "zeros", "text", b"".join(b"+00" + line(v) if type(v) is int and v >= 0 else line(v) for vs in m.values() for v in values(vs))
    yield "pieces", "pb", b"".join(pb_message(SERVICES_PB, service, side, x).SerializeToString() for x in pieces)


# What must be refused.

def refused():
    echo = f'<echo xmlns="{NS}"><text>a</text></echo>'
    sort = f'<sort xmlns="{NS}"><n>%s</n></sort>'
    monitor = request("monitor", 2, 7)
    least = xml("monitor", monitor).decode()
    for what, text in {
        "doctype": '<!DOCTYPE echo [<!ENTITY a "b">]>' + echo, "namespace": echo.replace(NS, "urn:other"), "no-namespace": "<echo><text>a</text></echo>",
        "cut": echo[:-3], "trailing": echo + "<x/>", "text-after": echo + "x", "mismatch": echo.replace("</text>", "</tex>"), "missing": echo.replace("<text>a</text>", ""),
        "entity": echo.replace(">a<", ">&a;<"), "control": echo.replace(">a<", ">\x01<"), "cdata-end": echo.replace(">a<", ">]]><"), "twice": echo.replace("<text>a</text>", "<text>a</text>" * 2),
        "encoding": '<?xml version="1.0" encoding="ISO-8859-1"?>' + echo, "prefix": echo.replace("text>", "e:text>"), "attribute-twice": echo.replace("<text>", '<text xmlns:a="u" xmlns:b="u" a:x="" b:x="">'),
        "unknown": echo.replace("</echo>", "<later/></echo>"), "attribute": echo.replace("<text>", '<text x="1">'), "empty": "", "child": echo.replace(">a<", "><b/><"),
        "nil": echo.replace("<text>a</text>", '<text xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:nil="true"/>'),
    }.items():
        yield "echo", what, "xml", text.encode()
    yield "echo", "utf-8", "xml", echo.encode().replace(b">a<", b">\xff<")
    for what, text in {"range": "2147483648", "range-low": "-2147483649", "no-number": "", "fraction": "1.0", "hex": "0x1", "inner-space": "1 2"}.items():
        yield "sort", what, "xml", (sort % text).encode()
    yield "monitor", "order", "xml", least.replace("<status>%d</status><sequence>%d</sequence>" % (monitor["status"], monitor["sequence"]),
                                                   "<sequence>1</sequence><status>1</status>").encode()
    yield "monitor", "boolean", "xml", least.replace("<running>true", "<running>yes").replace("<running>false", "<running>yes").encode()
    yield "io", "base64", "xml", f'<io xmlns="{NS}"><data>QQ=</data></io>'.encode()
    yield "sum", "exponent", "xml", f'<sum xmlns="{NS}"><x>1E2</x></sum>'.encode()
    for kind, space in SOAP.items():
        body = f'<s:Body>{echo}</s:Body>'
        for what, text in {
            "no-body": "", "empty-body": "<s:Body/>", "two": f"<s:Body>{echo}{echo}</s:Body>", "after": body + "<s:x/>",
            "must-understand": f'<s:Header><h:h xmlns:h="urn:h" s:mustUnderstand="1"/></s:Header>' + body, "other": f"<s:Body>{sort % 1}</s:Body>",
        }.items():
            yield "echo", what, kind, f'<s:Envelope xmlns:s="{space}">{text}</s:Envelope>'.encode()
        other = SOAP["soap12" if kind == "soap11" else "soap11"]
        yield "echo", "version", kind, f'<s:Envelope xmlns:s="{other}">{body}</s:Envelope>'.encode()
    for service, texts in {
        "echo": {"empty": "", "null": "null", "array": "[]", "missing": "{}", "wrong-type": '{"text":1}', "null-field": '{"text":null}', "cut": '{"text":"a"', "trailing": '{"text":"a"}x', "comma": '{"text":"a",}',
                 "control": '{"text":"\n"}', "surrogate": '{"text":"\\ud800"}', "surrogates": '{"text":"\\udc00\\ud800"}', "half-pair": '{"text":"\\ud83d\\u0041"}', "pair-cut": '{"text":"\\ud83dx"}', "escape": '{"text":"\\x41"}', "single-quotes": "{'text':'a'}",
                 "comment": '{"text":"a"/**/}', "deep": '{"text":"a","x":' + "[" * 1000 + "]" * 1000 + "}", "cut-deep": '{"text":"a","x":' + "[" * 1000},
        "sort": {"range": '{"n":[2147483648]}', "fraction": '{"n":[1.5]}', "huge": '{"n":[1e400]}', "zero": '{"n":[01]}', "plus": '{"n":[+1]}', "point": '{"n":[1.]}', "null": '{"n":null}', "string": '{"n":["1"]}', "cut": '{"n":[1,'},
        "sum": {"nan": '{"x":[NaN]}', "range": '{"x":[1e14]}', "exponent": '{"x":[1e]}'},
        "io": {"base64": '{"data":"QQ="}', "bits": '{"data":"QR=="}', "line": '{"data":"QUFB\\nQUFB"}'},
        "monitor": {"boolean": json_bytes(monitor).decode().replace("true", "1").replace("false", "1"), "missing": json_bytes({k: v for k, v in monitor.items() if k != "running"}).decode()},
    }.items():
        for what, text in texts.items():
            yield service, what, "json", text.encode()
    yield "echo", "utf-8", "json", b'{"text":"\xff"}'
    sequence = b"\x61n"
    for service, what, b in [
        ("echo", "empty", b""), ("echo", "missing", b"\xa0"), ("echo", "array", b"\x80"), ("echo", "cut", cbor2.dumps({"text": "abc"})[:-1]), ("echo", "trailing", cbor2.dumps({"text": "a"}) + b"\0"),
        ("echo", "twice", b"\xa2\x64text\x61a\x64text\x61b"), ("echo", "bytes", cbor2.dumps({"text": b"a"})), ("echo", "utf-8", b"\xa1\x64text\x61\xff"), ("echo", "huge", b"\xa1\x64text\x7b" + b"\xff" * 8),
        ("echo", "reserved", b"\xa1\x64text\x7c"), ("echo", "break", b"\xff"), ("echo", "deep", b"\xa2\x64text\x61a\x61x" + b"\x81" * 1000 + b"\0"), ("echo", "chunk", b"\xa1\x64text\x7f\x41a\xff"),
        ("sort", "claim", b"\xa1" + sequence + b"\x9b\x10" + b"\0" * 7), ("sort", "map-claim", b"\xbb\x10" + b"\0" * 7), ("sort", "range", b"\xa1" + sequence + b"\x81\x1a\x80\0\0\0"),
        ("sort", "float", cbor2.dumps({"n": [1.0]})), ("sort", "bignum", cbor2.dumps({"n": [2**70]})), ("sum", "nan", cbor2.dumps({"x": [float("nan")]})), ("sum", "infinite", b"\xa1\x61x\x81\xf9\x7c\0"),
        ("sum", "range", cbor2.dumps({"x": [1e14]})), ("monitor", "null", cbor2.dumps({**plain(monitor), "running": None})),
    ]:
        yield service, what, "cbor", b
    for service, what, b in [
        ("echo", "empty", b""), ("echo", "missing", b"\x80"), ("echo", "array", b"\x90"), ("echo", "cut", msgpack.packb({"text": "abc"})[:-1]), ("echo", "trailing", msgpack.packb({"text": "a"}) + b"\0"),
        ("echo", "bytes", msgpack.packb({"text": b"a"})), ("echo", "utf-8", b"\x81\xa4text\xa1\xff"), ("echo", "huge", b"\x81\xa4text\xdb\xff\xff\xff\xff"), ("echo", "unused", b"\x82\xa4text\xa1a\xa1x\xc1"),
        ("echo", "deep", b"\x82\xa4text\xa1a\xa1x" + b"\x91" * 1000 + b"\0"), ("sort", "claim", b"\x81\xa1n\xdd\xff\xff\xff\xff"), ("sort", "map-claim", b"\xdf\xff\xff\xff\xff"), ("sort", "range", msgpack.packb({"n": [2**31]})),
        ("sort", "range-low", msgpack.packb({"n": [-2**31 - 1]})), ("sort", "range-64", msgpack.packb({"n": [2**64 - 1]})), ("sort", "float", msgpack.packb({"n": [1.0]})), ("sum", "nan", msgpack.packb({"x": [float("nan")]})),
        ("sum", "range", msgpack.packb({"x": [1e14]})), ("monitor", "nil", msgpack.packb({**plain(monitor), "running": None})), ("io", "text", msgpack.packb({"data": "a"})),
    ]:
        yield service, what, "msgpack", b
    for service, what, b in [
        ("echo", "cut", b"\x0a\x03ab"), ("echo", "huge", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), ("echo", "utf-8", b"\x0a\x01\xff"), ("echo", "zero", b"\x02\x00"), ("echo", "wire-type", b"\x0e\x00"),
        ("echo", "group", b"\x13"), ("echo", "end-group", b"\x14"), ("echo", "group-mismatch", b"\x13\x1c"), ("echo", "deep", b"\x13" * 1000 + b"\x14" * 1000), ("echo", "key", b"\xff" * 10),
        ("sort", "cut", b"\x0a\x01\x80"), ("sort", "range", b"\x08\x80\x80\x80\x80\x08"), ("sort", "long", b"\x08" + b"\x80" * 10 + b"\x01"), ("sum", "cut", b"\x09\0\0\0"), ("sum", "packed-cut", b"\x0a\x07" + b"\0" * 7),
        ("sum", "nan", b"\x09" + struct.pack("<d", float("nan"))), ("sum", "range", b"\x09" + struct.pack("<d", 1e14)),
    ]:
        yield service, what, "pb", b
    for service, texts in {
        "echo": {"empty": b"", "cut": b"ab", "two": b"a\nb\n", "utf-8": b"\xff\n", "escape": b"a\\t\n", "escape-cut": b"a\\\n"},
        "sort": {"cut": b"1\n2", "empty-line": b"\n", "range": b"2147483648\n", "range-low": b"-2147483649\n", "fraction": b"1.0\n", "two": b"1 2\n", "return": b"1\r\n"},
        "sum": {"exponent": b"1E2\n", "comma": b"1,5\n", "range": b"%d1\n" % 10**14, "points": b"1.2.3\n", "empty-line": b"1.00\n\n", "cut": b"1.00\n1.0"},
        "temperature": {"something": b"\n"}, "io": {"base64": b"QQ=\n", "cut": b"QUFB"},
        "monitor": {"missing": lines(monitor).rsplit(b"\n", 2)[0] + b"\n", "boolean": lines(monitor).replace(b"true", b"1").replace(b"false", b"0")},
    }.items():
        for what, b in texts.items():
            yield service, what, "text", b


FAULTS = {
    ("sender", "soap11"): ("Sender", "it is <wrong> & so on", '<soap:Envelope xmlns:soap="{ns}"><soap:Body><soap:Fault><faultcode>soap:Client</faultcode><faultstring>it is &lt;wrong&gt; &amp; so on</faultstring></soap:Fault></soap:Body></soap:Envelope>'),
    ("receiver", "soap11"): ("Receiver", "full", '<soap:Envelope xmlns:soap="{ns}"><soap:Body><soap:Fault><faultcode>soap:Server</faultcode><faultstring>full</faultstring></soap:Fault></soap:Body></soap:Envelope>'),
    ("sender", "soap12"): ("Sender", "it is <wrong> & so on", '<soap:Envelope xmlns:soap="{ns}"><soap:Body><soap:Fault><soap:Code><soap:Value>soap:Sender</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang="en">it is &lt;wrong&gt; &amp; so on</soap:Text></soap:Reason></soap:Fault></soap:Body></soap:Envelope>'),
    ("receiver", "soap12"): ("Receiver", "full", '<soap:Envelope xmlns:soap="{ns}"><soap:Body><soap:Fault><soap:Code><soap:Value>soap:Receiver</soap:Value></soap:Code><soap:Reason><soap:Text xml:lang="en">full</soap:Text></soap:Reason></soap:Fault></soap:Body></soap:Envelope>'),
    ("detailed", "soap11"): ("Sender", "who are you", '<S:Envelope xmlns:S="{ns}"><S:Header/><S:Body><S:Fault><faultcode xmlns:x="{ns}">x:Client.Authentication</faultcode><faultstring>who are you</faultstring><faultactor>urn:a</faultactor><detail><faultstring>no</faultstring></detail></S:Fault></S:Body></S:Envelope>'),
    ("detailed", "soap12"): ("Sender", "who are you", '<S:Envelope xmlns:S="{ns}"><S:Body><S:Fault><S:Code><S:Value>S:Sender</S:Value><S:Subcode><S:Value xmlns:w="urn:w">w:Who</S:Value></S:Subcode></S:Code><S:Reason><S:Text xml:lang="en">\nwho are you\n</S:Text></S:Reason><S:Detail><S:Text>no</S:Text></S:Detail></S:Fault></S:Body></S:Envelope>'),
    ("foreign", "soap11"): ("Weather", "rain", '<S:Envelope xmlns:S="{ns}"><S:Body><S:Fault><faultcode>Weather</faultcode><faultstring>rain</faultstring></S:Fault></S:Body></S:Envelope>'),
}

SPECIAL = "<&>\"'\\/ ]]> \r\n\t\u007f\u0085é€\ufffd😀\U0010ffff"
HAND = [
    ("echo-escapes", "echo", {"text": SPECIAL}, ENCODINGS),
    ("echo-controls", "echo", {"text": "".join(map(chr, range(32)))}, ["json", "cbor", "msgpack", "pb", "text"]),
    ("sort-edges", "sort", {"n": [-2**31, -2**31 + 1, -65537, -65536, -32769, -32768, -257, -256, -129, -128, -33, -32, -25, -24, -1, 0, 23, 24, 31, 32, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 2**31 - 1]}, ENCODINGS),
    ("sum-edges", "sum", {"x": [Hundredths(k) for k in (0, 1, -1, -5, 99, -99, 100, -100, 12345, 10**15, -10**15, 1 - 10**15)]}, ENCODINGS),
    ("concat-lengths", "concat", {"s": ["a" * n for n in (0, 1, 23, 24, 31, 32, 255, 256)]}, ENCODINGS),
    ("monitor-least", "monitor", {"id": "", "status": -1, "sequence": -2**31, "temperature": Hundredths(-5), "pressure": Hundredths(0), "running": False, "message": ""}, ENCODINGS),
]


def everything():
    """All files, as pairs of a path below golden/ and bytes."""
    cases = [(s, n, seed, {}) for s in SERVICES for n, seed in [(0, 7), (1, 7), (2, 7), (23, 7), (23, 2**64 - 1)] if s != "temperature" or n == 0]
    cases += [("concat", 23, 7, {"letters": 5}), ("sum", 23, 7, {"max": 20}), ("sum", 1, 7, {"max": 10**15})]
    for service, n, seed, width in cases:
        name = "-".join([service, str(n), str(seed)] + [k + str(v) for k, v in width.items()])
        q = request(service, n, seed, **width)
        for side, m in [("request", q), ("response", response(service, q))]:
            for e in ENCODINGS:
                yield f"{name}.{side}.{e}", encode(e, service, side, m)
            if seed == 7 and n in (0, 2) and not width:
                for what, e, b in variants(service, side, m):
                    if n == 0 and what not in ("empty", "pretty", "indefinite", "unknown") and service != "temperature":
                        continue
                    yield f"variants/{name}.{side}.{what}.{e}", b
    for name, service, q, encodings in HAND:
        for side, m in [("request", q), ("response", response(service, q))]:
            for e in encodings:
                yield f"{name}.{side}.{e}", encode(e, service, side, m)
    for service, what, e, b in refused():
        yield f"refused/{service}.request.{what}.{e}", b
    for (what, e), (_, _, text) in FAULTS.items():
        yield f"faults/{what}.{e}", text.format(ns=SOAP[e]).encode()
    yield "faults/faults.txt", "".join(f"{what}.{e}\t{code}\t{reason}\n" for (what, e), (code, reason, _) in FAULTS.items()).encode()
    yield "sums.txt", sums().encode()
    yield "README.md", readme().encode()


def sums():
    lines = ["# SHA-256, bytes, message; made by golden.py\n"]
    for service in SERVICES:
        for n in (1023, 65536) if service != "temperature" else ():
            q = request(service, n, 7)
            for side, m in [("request", q), ("response", response(service, q))]:
                for e in ENCODINGS:
                    b = encode(e, service, side, m)
                    lines.append(f"{hashlib.sha256(b).hexdigest()} {len(b)} {service}-{n}-7.{side}.{e}\n")
    return "".join(lines)


def readme():
    used = ", ".join(f"{p} {version(p)}" for p in ("cbor2", "msgpack", "protobuf", "grpcio-tools", "lxml"))
    return f"Made by ../golden.py with Python {sys.version_info.major}.{sys.version_info.minor}, {used}; its head says what is what. Do not edit.\n"


def main():
    root = HERE / "golden"
    files = dict(everything())
    found = {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()}
    if "--check" in sys.argv:
        wrong = sorted(found ^ files.keys() | {f for f in found & files.keys() if (root / f).read_bytes() != files[f]})
        wrong = [f for f in wrong if f != "README.md"]
        print(*(f"{f} differs" for f in wrong), f"{len(files)} files, {len(wrong)} differ", sep="\n")
        sys.exit(bool(wrong))
    for f in found - files.keys():
        (root / f).unlink()
    for f, b in files.items():
        (root / f).parent.mkdir(parents=True, exist_ok=True)
        (root / f).write_bytes(b)
    print(len(files), "files,", sum(map(len, files.values())), "bytes")


if __name__ == "__main__":
    main()
