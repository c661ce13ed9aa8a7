#!/usr/bin/env python3
"""Takes seeds of the fuzz targets from real exchanges: our stacks with Californium, libcoap, aiocoap, SDCri and grpcio.

    python3 stacks/reference/testdata/capture.py EDGEGAUGE [NAME...]    as root, in the module's folder; needs tcpdump, tshark, the stacks built

The lab runs studies that keep their packets, and tcpdump watches loopback during the interop tests. What is found goes into the testdata/fuzz of the targets as
files named captured-NAME-NUMBER, at most 6 of a name and target and 4 kB each; go test reads them like any seed. Run again, it replaces them: tokens, ports and keys differ
then, nothing else should.
"""
import glob, os, pathlib, re, subprocess, sys, tempfile, time

EDGEGAUGE, WANTED = sys.argv[1], sys.argv[2:]
LEAST, MOST = 4, 4096
COAP, DPWS, DRIVE, CODEC = "internal/protocol/coap", "internal/protocol/dpws", "internal/drive", "internal/service/codec"
SERVICES = ["sort", "concat", "sum", "echo", "temperature", "monitor", "io", "memory"]
made = {}


def quoted(b):
    return '"' + "".join(chr(c) if 32 <= c < 127 and chr(c) not in '"\\' else "\\x%02x" % c for c in b) + '"'


def seed(name, package, target, *values):
    """Writes a seed in Go's corpus format. bytes are []byte; text of another type is given as it stands."""
    lines = ["[]byte(" + quoted(v) + ")" if isinstance(v, bytes) else v for v in values]
    if any(isinstance(v, bytes) and len(v) > MOST for v in values):
        return
    folder = pathlib.Path(package, "testdata/fuzz", target)
    text = "go test fuzz v1\n" + "\n".join(lines) + "\n"
    same = made.setdefault((name, target), [])
    if len(same) == 6 or text in same:
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ("captured-%s-%d" % (name, len(same)))).write_text(text)
    same.append(text)


def forget(name):
    for package in [COAP, DPWS, DRIVE, CODEC]:
        for f in glob.glob(package + "/testdata/fuzz/*/captured-%s-*" % name):
            if re.fullmatch(r"captured-%s-\d+" % re.escape(name), os.path.basename(f)):
                os.remove(f)


# What was captured: lists of (from the one who began, bytes), a list for each pair of ports.

def tshark(pcap, *args):
    return subprocess.run(["tshark", "-r", pcap, *args], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout


def datagrams(pcap):
    talks = {}
    for line in tshark(pcap, "-Y", "udp && udp.payload && !icmp", "-T", "fields", "-e", "udp.srcport", "-e", "udp.dstport", "-e", "udp.payload").splitlines():
        a, b, payload = line.split("\t")
        key = (a, b) if (b, a) not in talks else (b, a)
        talks.setdefault(key, []).append((key == (a, b), bytes.fromhex(payload)))
    return list(talks.values())


def streams(pcap):
    talks = {}
    fields = ["tcp.stream", "tcp.srcport", "tcp.payload", "tcp.analysis.retransmission"]
    first = {}
    for line in tshark(pcap, "-Y", "tcp.payload", "-T", "fields", *[x for f in fields for x in ("-e", f)]).splitlines():
        stream, port, payload, again = (line + "\t\t").split("\t")[:4]
        if again:
            continue
        client = first.setdefault(stream, port) == port
        talk = talks.setdefault(stream, [])
        if talk and talk[-1][0] == client:
            talk[-1] = (client, talk[-1][1] + bytes.fromhex(payload))
        else:
            talk.append((client, bytes.fromhex(payload)))
    return list(talks.values())


# What becomes of it.

def coap_seeds(name, talk, protected=False, service=None):
    """Sequences for the server and for the client, each datagram for the decoder, and bodies in protobuf or EXI."""
    for client in (True, False):
        joined = b"".join(bytes([len(d), 1]) + d for c, d in talk[:40] if c == client and len(d) < 256)
        if len(joined) < LEAST:
            continue
        if protected:
            seed(name, COAP, "FuzzProtected", joined)
        else:
            seed(name, COAP, "FuzzServer" if client else "FuzzExchange", joined)
    for _, d in talk[:6]:
        seed(name, COAP, "FuzzDecode", d)
    if service:
        for client, d in talk[:2]:
            if 0xff in d:
                seed(name, CODEC, "FuzzEXI" if "exi" in name else "FuzzProtobuf", "byte('\\x%02x')" % SERVICES.index(service),
                     "bool(%s)" % str(not client).lower(), d[payload(d):])


def payload(d):
    """Where a CoAP datagram's payload begins (RFC 7252, section 3)."""
    i = 4 + (d[0] & 15)
    while i < len(d) and d[i] != 0xff:
        parts, i = [d[i] >> 4, d[i] & 15], i + 1
        for k in range(2):
            if parts[k] == 13:
                parts[k], i = 13 + d[i], i + 1
            elif parts[k] == 14:
                parts[k], i = 269 + d[i] * 256 + d[i + 1], i + 2
        i += parts[1]
    return i + 1


def coap_tcp_seeds(name, talk):
    seed(name, COAP, "FuzzStream", b"".join(d for c, d in talk if c)[:1500], "uint16(9)")
    seed(name, COAP, "FuzzStream", b"".join(d for c, d in talk if not c)[:1500], "uint16(30)")


def http_bodies(stream):
    """The messages of a stream of HTTP/1.1: start line, body."""
    while b"\r\n\r\n" in stream:
        head, rest = stream.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)content-length: *(\d+)", head)
        if length:
            body, stream = rest[:int(length[1])], rest[int(length[1]):]
        elif re.search(rb"(?i)transfer-encoding: *chunked", head):
            body = b""
            while rest:
                size, rest = rest.split(b"\r\n", 1)
                n = int(size.split(b";")[0], 16)
                body, rest = body + rest[:n], rest[n + 2:]
                if n == 0:
                    break
            stream = rest
        else:
            body, stream = b"", rest
        yield head.split(b"\r\n")[0], body


def dpws_http_seeds(name, talk):
    for client in (True, False):
        stream = b"".join(d for c, d in talk if c == client)
        if not client:
            seed(name, DRIVE, "FuzzHTTPResponse", stream[:MOST], "uint64(1)", "bool(false)")
        for start, body in http_bodies(stream):
            if b"eventing" in body and client:
                seed(name, DPWS, "FuzzEventing", body, "string(%s)" % quoted(start.split()[1]))
            elif b"urn:edgegauge:services:1" in body and b"Probe" not in body and b"etadata" not in body:
                seed(name, CODEC, "FuzzSOAP12", "byte('\\x%02x')" % SERVICES.index("echo"), "bool(%s)" % str(not client).lower(), body)


def http2_seeds(name, talk):
    stream = b"".join(d for c, d in talk if not c)
    seed(name, DRIVE, "FuzzHTTP2Frames", stream[:MOST], "uint64(1)")
    for client in (True, False):
        b = b"".join(d for c, d in talk if c == client)
        b = b[24:] if b.startswith(b"PRI * ") else b
        while len(b) >= 9:
            n, kind = int.from_bytes(b[:3], "big"), b[3]
            data, b = b[9:9 + n], b[9 + n:]
            if kind == 0 and len(data) > 5 and int.from_bytes(data[1:5], "big") == len(data) - 5:
                seed(name, CODEC, "FuzzProtobuf", "byte('\\x%02x')" % SERVICES.index("monitor"), "bool(%s)" % str(not client).lower(), data[5:])


# How it is taken.

def study(service, encoding, client, server, security="none", n=None, options=None):
    """Runs a study of one treatment; returns the capture."""
    folder = tempfile.mkdtemp(prefix="captured-")
    lines = ["study: captured", "service: " + service, "encoding: " + encoding, "security: " + security, "requests: 3", "packets: keep",
             "client: {stack: %s}" % client, "server: {stack: %s}" % server,
             "design: {replications: 1, warmup: 1}", "responses: [rtt]", "timeouts: {ready: 60s, request: 20s, trial: 3m}"]
    if n is not None:
        lines.append("n: %d" % n)
    if options:
        lines.append("options.%s" % options)
    pathlib.Path(folder, "study.yaml").write_text("\n".join(lines) + "\n")
    run = subprocess.run([EDGEGAUGE, "run", folder + "/study.yaml", "--out", folder + "/results"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    found = glob.glob(folder + "/results/packets/*.pcapng")
    if not found:
        sys.exit("%s %s: %s" % (client, server, run.stdout))
    return found[0]


def watched(what, do):
    """Watches loopback meanwhile; returns the capture."""
    pcap = tempfile.mktemp(prefix="captured-", suffix=".pcap")
    watcher = subprocess.Popen(["tcpdump", "-i", "lo", "-U", "-w", pcap, what], stderr=subprocess.DEVNULL)
    time.sleep(1)
    do()
    time.sleep(1)
    watcher.terminate()
    watcher.wait()
    return pcap


def test(package, pattern):
    def do():
        run = subprocess.run(["go", "test", "-count=1", "-v", "-run", pattern, "./" + package], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode or "SKIP" in run.stdout:
            sys.exit(run.stdout)
    return watched("tcp or udp", do)


def coap_of(pcap):
    return [t for t in datagrams(pcap) if all(d[0] >> 6 == 1 for _, d in t)]


def take(name):
    forget(name)
    if name.startswith("californium") or name.startswith("libcoap-lab"):
        peer = "californium" if name.startswith("californium") else "libcoap"
        if name == "californium-tcp":
            for client, server in [("reference/coap-tcp-protobuf", peer), (peer, "reference/coap-tcp-protobuf")]:
                for talk in streams(study("monitor", "protobuf", client, server)):
                    coap_tcp_seeds(name, talk)
            return
        encoding, ours = ("exi-schema", "reference/coap-exi") if name.endswith("exi") else ("protobuf", "reference/coap-protobuf")
        security = "oscore" if name.endswith("oscore") else "none"
        for service, n in [("monitor", None), ("sort", 23), ("echo", 1500)]:
            for client, server in [(ours, peer), (peer, ours)]:
                for talk in coap_of(study(service, encoding, client, server, security, n)):
                    coap_seeds(name, talk, security == "oscore", service if security == "none" and service != "echo" else None)
        return
    if name == "sdcri":
        for client, server in [("reference/dpws", "dpws-sdcri"), ("dpws-sdcri", "reference/dpws")]:
            kept = []
            # Discovery goes by multicast to a port that the lab does not keep.
            for talk in datagrams(watched("udp port 3702", lambda: kept.append(study("echo", "soap12", client, server, n=23, options='events: "on"')))):
                for _, d in talk:
                    if d.lstrip().startswith(b"<"):
                        seed(name, DPWS, "FuzzDiscovery", d)
            for talk in streams(kept[0]):
                dpws_http_seeds(name, talk)
        return
    if name == "grpcio":
        for pattern in ["TestGRPCCallsOurServer", "TestWeCallGRPCServer"]:
            for talk in streams(test("stacks/reference", pattern)):
                if any(b"PRI * HTTP/2" in d for _, d in talk):
                    http2_seeds(name, talk)
        return
    pattern, tcp = TESTS[name]
    pcap = test(COAP, pattern)
    for talk in streams(pcap) if tcp else coap_of(pcap):
        coap_tcp_seeds(name, talk) if tcp else coap_seeds(name, talk)


TESTS = {"libcoap": ("TestTheirClientOurServer$|TestOurClientTheirServer$|TestTheirClientObserves|TestOurClientObservesTheirs", False),
         "libcoap-tcp": ("TestTheirClientOverTCP|TestOurClientOverTCPTheirServer", True),
         "aiocoap": ("TestOurClientAiocoapServes|TestAiocoapAsksOurServer", False)}

for name in WANTED or ["californium", "californium-oscore", "californium-tcp", "californium-exi", "sdcri", "grpcio", *TESTS]:
    take(name)
    print(name, {target: len(files) for (n, target), files in made.items() if n == name})
