package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/stack/conform"
)

// A mutant is a skeleton in which one text is replaced by another, and the check
// that must find it.
type mutant struct{ check, old, new string }

// pythonMutants are wrong stacks, each as somebody might write it.
var pythonMutants = []mutant{
	// what the server takes
	{"refuses wrong fields", `raise Refused("no " + field)`,
		`message[field] = {"text": "", "boolean": False}.get(fields[field], 0)`},
	{"refuses wrong fields", `raise Refused("no %s in %s" % (kind, field))`, `return value`},
	{"refuses wrong fields", ` and -(1 << 31) <= value < 1 << 31:`, `:`},
	{"refuses wrong fields", `if value == int(value) and `, `if `},
	{"refuses wrong fields", ` and not isinstance(value, bool)`, ``},
	{"refuses wrong fields", `body.decode("utf-8")`, `body.decode("utf-8", "replace")`},
	{"refuses wrong fields", `raise Refused("not an object")`, `message = message[0]`},
	{"refuses wrong fields", `json.loads(body.decode("utf-8"), parse_float=Decimal, parse_constant=no_constant)`,
		`json.JSONDecoder(parse_float=Decimal).raw_decode(body.decode("utf-8"))[0]`},
	{"refuses bad requests", `if self.headers.get_content_type() != JSON:`, `if False:`},
	{"refuses bad requests", `if int(length) > limit:`, `if False:  # no limit`},
	{"refuses bad requests", `return self.refuse(400, str(e))`, `return self.refuse(500, str(e))`},
	{"refuses bad requests", `return self.refuse(400, str(e))`, `return self.respond(200, b'{"text":""}')`},
	{"refuses bad requests", `return self.refuse(400, str(e))`, `os._exit(1)`},
	{"refuses truncated", `return self.refuse(411, "send Content-Length")`,
		`length = "0"; return self.respond(200, b"{}")`},
	// what it answers
	{"echo server answers", `return {"text": request["text"]}`, `return {"text": request["text"][:1000]}`},
	{"monitor server answers", `"accepted": True`, `"accepted": False`},
	{"monitor server answers", `"sequence": request["sequence"]}`, `"sequence": request["sequence"] + 1}`},
	{"server writes the canonical form", `'"%s":%s'`, `'"%s": %s'`},
	{"server writes the canonical form", `ensure_ascii=False`, `ensure_ascii=True`},
	{"monitor server writes the canonical form", `",".join(`, `", ".join(`},
	{"server writes the canonical form", `kind=JSON):`, `kind="text/plain"):`},
	{"echo answers", `self.respond(200, out)`, `self.respond(201, out)`},
	{"listens on its host only", `(line["host"], line.get("port", 0))`, `("0.0.0.0", line.get("port", 0))`},
	// what it records
	{"times its phases", `"deserialization": decoded - begun`, `"deserialization": 0`},
	{"times its phases", `"processing": answered - decoded`, `"processing": 0`},
	{"times its phases", `"serialization": encoded - answered`, `"serialization": 0`},
	{"times its phases", `"deserialization": decoded - begun, "processing": answered - decoded,`, `"processing": 0,`},
	{"a known delay", `"deserialization": decoded - begun, "processing": answered - decoded`,
		`"deserialization": answered - decoded, "processing": decoded - begun`},
	{"a known delay", `now = time.monotonic_ns`, `now = lambda: time.monotonic_ns() // 1000`},
	{"a known delay", `time.sleep(delay / 1e9)`, `time.sleep(delay / 1e12)`},
	{"echo server answers", `"total": now() - begun,`, `"total": 0,`},
	{"echo server answers", `"in": len(body), "out": len(out)`, `"in": len(out) + 1, "out": len(body)`},
	{"echo server answers", `records.clear()`, `pass`},
	{"echo server answers", `if not ask.get("discard"):`, `if True:`},
	{"echo server answers", `seq=seq, **record`, `seq=1, **record`},
	{"echo server answers", `say(type="end", count=len(taken))`, `say(type="end", count=len(taken) + 1)`},
	{"echo server answers", `    ready(url="http`, `    print("listening", flush=True); ready(url="http`},
	// what the client sends
	{"client sends the message of its seed", `0x9E3779B97F4A7C15`, `0x9E3779B97F4A7C17`},
	{"client sends the message of its seed", `make(service, message["seed"], message["n"])`,
		`make(service, 7, message["n"])`},
	{"client sends the message of its seed", `message["seed"], message["n"])`,
		`int(float(message["seed"])), message["n"])`},
	{"client sends the message of its seed", `message["seed"], message["n"])`, `message["seed"], message["n"] + 1)`},
	{"monitor client sends the message of its seed", `% 10000 - 2000`, `% 10000`},
	{"monitor client writes the canonical form", `for f in fields)`, `for f in sorted(fields))`},
	{"echo client asks", `body, {"Content-Type": JSON}`, `body, {"Content-Type": "text/plain"}`},
	{"connection per-request", `if line["connection"] == "per-request" or response.will_close:`,
		`if response.will_close:`},
	{"connection keep-alive", `if line["connection"] == "per-request" or response.will_close:`, `if True:`},
	{"client gives up", `timeout=timeout)`, `timeout=None)`},
	{"paces requests", `if due > now() - start:`, `if False:`},
	{"paces requests", `pace = 1e9 / ask["rate"] if ask.get("rate") else ask.get("interval", 0)`, `pace = 0`},
	{"paces requests", `if ask.get("arrival", "constant") not in ("", "constant"):`, `if False:`},
	{"paces requests", `if due >= last or now() - start >= last:`, `if now() - start > 2 * last:`},
	// what it makes of answers, and records
	{"client checks its answers", `if received != expected:`, `if False:`},
	{"client checks its answers", `received = decode(got, RESPONSE[service])`, `received = expected`},
	{"client checks its answers", `x["failure"] = str(e) or type(e).__name__`, `pass`},
	{"times its phases", `x["serialization"], x["out"] = now() - begun, len(body)`,
		`x["serialization"], x["out"] = 0, len(body)`},
	{"times its phases", `x["deserialization"] = now() - decoding`, `x["deserialization"] = 0`},
	{"a known delay", `response = connection.getresponse()`, `response = connection.getresponse(); x["sent"] = now()`},
	{"a known delay", `x["done"], x["in"] = now(), len(got)`, `x["done"], x["in"] = x["sent"] + 1, len(got)`},
	{"RTT excludes connecting", `x["connection"] = now() - opening`, `pass`},
	{"RTT excludes connecting", `        x["sent"] = now()
        connection.request`, `        x["sent"] = opening if "connection" in x else now()
        connection.request`},
	{"echo answers", `say(type="end", count=count)`, `say(type="end", count=count - 1)`},
	{"echo answers", `if ask.get("record"):`, `if True:`},
	{"echo answers", `{"seq": count + 1,`, `{"seq": 1,`},
	{"connection keep-alive", `os._exit(0)`, `time.sleep(60)`},
	// what neither can do
	{"echo server reports errors", `if value not in have:`, `if False:`},
	{"echo server reports errors", `say(type="error",`, `say(type="mishap",`},
	{"client reports errors", `if line["connection"] not in ("keep-alive", "per-request"):`, `if False:`},
}

// Each mutant is found by the check that is for it; the kit runs no other. That
// the skeleton itself passes all checks is a test of its own.
func TestKitFindsMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	findMutants(t, "python", "stack.py", pythonMutants)
}

func findMutants(t *testing.T, lang, file string, mutants []mutant) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kit, err := newKit(exe, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	kit.Parallel = 1
	dir := t.TempDir()
	slots := make(chan struct{}, 4) // they wait more than they work
	var wg sync.WaitGroup
	for i, m := range mutants {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			name := filepath.Join(dir, "mutant", string(rune('a'+i/26))+string(rune('a'+i%26)))
			if _, err := writeSkeleton(name, "mutant", lang); err != nil {
				t.Error(err)
				return
			}
			b, err := os.ReadFile(filepath.Join(name, file))
			if err != nil || !strings.Contains(string(b), m.old) {
				t.Errorf("%s: no %s in it: %v", lang, m.old, err)
				return
			}
			err = os.WriteFile(filepath.Join(name, file), []byte(strings.ReplaceAll(string(b), m.old, m.new)), 0o644)
			if err != nil {
				t.Error(err)
				return
			}
			if found, err := findMutant(t.Context(), name, kit, m.check); err != nil || !found {
				t.Errorf("%s, %s instead of %s: not found by %q: %v", lang, m.new, m.old, m.check, err)
			}
		})
	}
	wg.Wait()
}

// findMutant runs one check of the kit on the stack in dir, until it fails.
func findMutant(ctx context.Context, dir string, kit conform.Kit, check string) (found bool, err error) {
	d, err := stack.Read(dir)
	if err != nil {
		return false, err
	}
	if _, err := d.Make(ctx, os.Stderr); err != nil {
		return false, err
	}
	kit.Only = check
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	conform.Run(ctx, d, kit, func(_ string, err error) {
		if err != nil {
			found = true
			cancel()
		}
	})
	return found, nil
}
