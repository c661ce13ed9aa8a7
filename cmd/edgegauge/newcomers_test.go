package main

// newcomersMutants are faults of another kind than those beside them: what somebody writes who has never measured.
var newcomersMutants = []mutant{
	// what the server keeps of earlier requests
	{"server answers", `            body = self.rfile.read(int(length))
            if`, `            room = self.server.__dict__.setdefault("room", bytearray(limit))
            self.rfile.readinto(memoryview(room)[:int(length)])
            self.server.most = max(int(length), self.server.__dict__.get("most", 0))
            body = bytes(room[:self.server.most])
            if`}, // a buffer that is used again, with the rest of a longer message
	{"server answers", `            response = answer(service, request)
            answered`, `            response = self.server.__dict__.setdefault(self.path, answer(service, request))
            answered`}, // a cache by URI
	{"answers several connections", `            response = answer(service, request)
            answered`, `            response = self.server.__dict__.get("last") or answer(service, request)
            self.server.last = answer(service, request)
            answered`}, // the request before is answered
	{"decodes each message anew", `def decode(body, fields):
`, `known = {}


def decode(body, fields):
    if body not in known:
        known[body] = decode_anew(body, fields)
    return known[body]


def decode_anew(body, fields):
`}, // a cache by body
	{"answers several connections", `http.server.ThreadingHTTPServer):`, `http.server.HTTPServer):`},
	{"answers several connections", `self.respond(200, out)`,
		`self.server.out = out; time.sleep(0.001); self.respond(200, self.server.out)`}, // shared by connections
	// when the server's clock runs
	{"total begins with the whole request", `            body = self.rfile.read(int(length))
            if len(body) < int(length):
                return self.refuse(400, "the body is shorter than announced")
            begun = now()`, `            begun = now()
            body = self.rfile.read(int(length))
            if len(body) < int(length):
                return self.refuse(400, "the body is shorter than announced")`},
	{"total begins with the whole request", `            begun = now()  # the request is complete`,
		`            begun, self.server.end = self.server.__dict__.get("end", now()), now()`}, // from the request before
	{"times its phases", `"deserialization": decoded - begun,`, `"deserialization": (decoded - begun) // 1000,`}, // in µs
	{"server answers", `"total": now() - begun,`, `"total": (now() - begun) // 1000,`},
	{"server answers", `enumerate(taken, 1)`, `enumerate(taken)`},
	// what the server writes
	{"server writes the canonical form", `kind=JSON):`, `kind=JSON + "; charset=iso-8859-1"):`},
	{"server answers", `self.send_header("Content-Length", str(len(body)))`,
		`self.send_header("Transfer-Encoding", "chunked")`}, // without chunks
	{"writes HTTP/1.1 as defined", `            self.end_headers()
`, `            self._headers_buffer = [line.replace(b"\r\n", b"\n") for line in self._headers_buffer]
            self.end_headers()
`},
	{"writes HTTP/1.1 as defined", `protocol_version = "HTTP/1.1"`, `protocol_version = "HTTP/1.0"`},
	{"refuses bad requests", `if self.path != "/" + service:`, `if False:`},
	{"refuses bad requests", `do_PUT = do_DELETE`, `do_PUT = do_POST; do_DELETE`},
	// what the client sends
	{"times its phases", `def encode(message, fields):
`, `made = {}


def encode(message, fields):
    if any(fields is f for f in RESPONSE.values()):
        return encode_anew(message, fields)
    return made.setdefault(id(message), made.get(id(message)) or encode_anew(message, fields))


def encode_anew(message, fields):
`}, // encoded once, before the run
	{"writes HTTP/1.1 as defined", `connection.request("POST", path, body`,
		`connection.request("POST", "/" + service, body`},
	{"writes HTTP/1.1 as defined", `        x["sent"] = now()
`, `        x["sent"] = now()
        connection.request("OPTIONS", path)
        connection.getresponse().read()
`}, // asks first whether it may ask
	{"monitor client asks", `"%s%d.%02d"`, `"%s%d,%02d"`}, // as in the author's country
	{"client checks its answers", `                once(x)
`, `                try:
                    once(x)
                except Refused:
                    once(x)
`}, // tries again, and says nothing
	// when the client's clock runs
	{"RTT ends with the last byte", `        got = response.read()
        x["done"], x["in"] = now(), len(got)`, `        x["done"] = now()
        got = response.read()
        x["in"] = len(got)`},
	{"echo answers", `"due": due}`, `"due": 0}`},
	{"paces requests", `due = round(count * pace) if pace else now() - start`,
		`due = now() - start + (pace if count else 0)`}, // from the end of the one before
	{"paces requests", `records.append(x)`, `say(type="exchange", **x)`}, // between requests
}

var newcomersNodeMutants = []mutant{
	{"RTT ends with the last byte", `        res.on('end', () => {
          clearTimeout(late);
          x.done = now();`, `        x.done = now();
        res.on('end', () => {
          clearTimeout(late);`},
	{"writes HTTP/1.1 as defined", `const headers = { 'Content-Type'`,
		`const headers = { Expect: '100-continue', 'Content-Type'`},
}

var newcomersGoMutants = []mutant{
	{"RTT ends with the last byte", `	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	x.done, x.in = now(), int64(len(got))`, `	x.done = now()
	got, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	x.in = int64(len(got))`},
}

var newcomersCMutants = []mutant{
	{"answers several connections", `if (pthread_create(&thread, NULL, serve_connection, (void *)(intptr_t)fd)) close(fd);
    else pthread_detach(thread);`, `(void)thread, serve_connection((void *)(intptr_t)fd);`},
	{"writes HTTP/1.1 as defined", `"HTTP/1.1 %d %s\r\nContent-Type: %s\r\n`, `"HTTP/1.1 %d %s\nContent-Type: %s\r\n`},
	{"server answers", `h->length = -1, h->chunked = h->close = false, h->body.n = 0, *h->type = 0;`,
		`h->length = -1, h->chunked = h->close = false, *h->type = 0;`}, // bodies one behind the other
}
