package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
	{"refuses wrong fields", `raise Refused("half a surrogate pair in " + field)`, `value = message[field] = "?"`},
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
	{"waits for no timer", `wbufsize = -1  # header and body in one write: with two, Nagle and delayed acknowledgements cost 40 ms
        disable_nagle_algorithm = True`, `wbufsize = 0`},
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
	{"connection keep-alive", `if line["connection"] == "per-request" or response.will_close:`,
		`if line["connection"] == "per-request" or response.will_close or x["seq"] == 9:`},
	{"client gives up", `timeout=timeout)`, `timeout=None)`},
	{"client gives up", `timeout=timeout)`, `timeout=timeout / 1000)`},
	{"paces requests", `if left > 0:`, `if False:`},
	{"paces requests", `pace = 1e9 / ask["rate"] if ask.get("rate") else ask.get("interval", 0)`, `pace = 0`},
	{"paces requests", `if ask.get("arrival", "constant") not in ("", "constant"):`, `if False:`},
	{"paces requests", `if due >= last or not ask.get("rate") and now() - start >= last:`, `if now() - start > 2 * last:`},
	{"paces requests", `not ask.get("rate") and now() - start`, `now() - start`}, // omits what is late
	// what it makes of answers, and records
	{"client checks its answers", `if received != expected:`, `if False:`},
	{"client checks its answers", `received = decode(got, RESPONSE[service])`, `received = expected`},
	{"client checks its answers", `x["failure"] = str(e) or type(e).__name__`, `pass`},
	{"client checks its answers", `failed=len(failures), first_failure=failures[0]`, ``},
	{"client checks its answers", `first_failure=failures[0]`, ``},
	{"client checks its answers", `failures.append(x["failure"])`, `failures[:] = [x["failure"]]`},
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
	{"refuses a wrong value of an option, delay", `if not (delay.isascii() and delay.isdecimal() and len(delay) < 19):`,
		`delay = "".join(re.findall("^[0-9]+", delay)) or "0"
    if False:`},
}

var nodeMutants = []mutant{
	{"refuses wrong fields", ` && (value | 0) === value`, ``},
	{"server writes the canonical form", "`\"${f}\":", "`\"${f}\": "},
	{"client checks its answers", `if (received[f] !== expected[f])`, `if (false)`},
	{"client checks its answers", `failures.push(x.failure);`, ``},
	{"listens on its host only", `host: line.host }`, `host: "0.0.0.0" }`},
}

var goMutants = []mutant{
	{"refuses wrong fields", ` && x >= math.MinInt32 && x <= math.MaxInt32`, ``},
	{"client checks its answers", `received != *c.expected`, `received == (message{})`},
	{"client checks its answers", `failures = append(failures, x.failure)`, `failures = nil`},
	{"a known delay", `record{decoded - begun, answered - decoded,`, `record{answered - decoded, decoded - begun,`},
	{"connection keep-alive", `DisableKeepAlives: l.Connection == "per-request"`, `DisableKeepAlives: true`},
}

var rustMutants = []mutant{
	{"a known delay", `wait_until(decoded + self.delay);`, `wait_until(decoded + self.delay / 1000);`},
	{"client checks its answers", `if received != self.expected {`, `if false {`},
	{"client checks its answers", `failures.push(why.clone());`,
		`failures.insert(0, String::new()); failures.truncate(1);`},
}

var rustJSONMutants = []mutant{
	{"server writes the canonical form", `'\n' => b.push_str("\\n"),`, ``},
	{"refuses wrong fields", `} else if exact && d != 0 {`, `} else if false {`},
}

var javaMutants = []mutant{
	{"refuses wrong fields", ` && d.longValue() == d.intValue()`, ``},
	{"server writes the canonical form", `append("\":");`, `append("\": ");`},
	{"echo server answers", `records.clear();`, ``},
	{"client checks its answers", `if (!received.equals(expected))`, `if (false)`},
	{"client checks its answers", `failures.add(failure);`, ``},
}

var cMutants = []mutant{
	{"refuses wrong fields", `if (!wrong && have != (1u << f.count) - 1)`, `if (false)`},
	{"server writes the canonical form", `"%s\"%s\":"`, `"%s\"%s\": "`},
	{"refuses bad requests", `return h->length > limit ? LARGE :`, `return`},
	{"listens on its host only", `resolve(host, *port ? port : "0")`, `resolve("0.0.0.0", *port ? port : "0")`},
	{"a known delay", `r.deserialization = decoded - begun, r.processing = answered - decoded`,
		`r.processing = decoded - begun, r.deserialization = answered - decoded`},
	{"client sends the message of its seed", `strtoull(get(line, "message.seed"), NULL, 10)`,
		`(uint64_t)number(line, "message.seed")`},
	{"client checks its answers", `if (!wrong && !same(&received, &client.expected))`, `if (false)`},
	{"client checks its answers", `else if (*x.failure && failed++ == 0)`, `else if (*x.failure && failed == 0)`},
	{"connection keep-alive", `if (*x.failure || client.per_request || client.h.close)`, `if (true)`},
}

// Each mutant is found by the check that is for it; the kit runs no other. That
// the skeletons themselves pass all checks are tests of their own.
func TestKitFindsMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	for _, of := range []struct {
		lang, file string
		mutants    []mutant
	}{
		{"python", "stack.py", slices.Concat(pythonMutants, newcomersMutants)},
		{"node", "stack.js", slices.Concat(nodeMutants, newcomersNodeMutants)},
		{"go", "main.go", slices.Concat(goMutants, newcomersGoMutants)},
		{"rust", "src/main.rs", rustMutants}, {"rust", "src/json.rs", rustJSONMutants},
		{"java", "Stack.java", javaMutants}, {"c", "stack.c", slices.Concat(cMutants, newcomersCMutants)},
	} {
		t.Run(of.lang+" "+filepath.Base(of.file), func(t *testing.T) { findMutants(t, of.lang, of.file, of.mutants) })
	}
}

// adapterMutants are the same in real adapters, one for each of the languages
// that have one outside of this binary.
var adapterMutants = []struct {
	stack, file string
	mutant
}{
	{"restlet", "src/edgegauge/restlet/Resource.java", mutant{"times its phases", `x.processing = t2 - t1;`, ``}},
	{"restlet", "src/edgegauge/restlet/ResourceCaller.java",
		mutant{"times its phases", `x.deserialization = System.nanoTime() - t0;`, ``}},
	{"restlet", "src/edgegauge/restlet/Resource.java", mutant{"total begins with the whole request",
		`    Representation body = receive(entity);
    Exchange x = Exchange.mine().begin();`, `    Exchange x = Exchange.mine().begin();
    Representation body = receive(entity);`}},
	{"restlet", "src/edgegauge/restlet/Resource.java", mutant{"concat server answers", `Message in = read(body);`,
		`Message in = read(body); System.getProperties().put(new Object(), in);`}}, // keeps each, until its heap is full
	{"libcoap", "src/server.c", mutant{"sort server answers", `out->count = in->count; return`,
		`out->count = in->count > 1 ? in->count - 1 : in->count; return`}}, // without the last
	{"libcoap", "src/server.c", mutant{"times its phases", `x.deserialization = decoded - x.begun`,
		`x.deserialization = 0`}},
	{"libcoap", "../c-common/message.c", mutant{"client sends messages as wide as told",
		`width ? (size_t)width : 8 + next(&r) % 9`, `8 + next(&r) % 9 + (size_t)width * 0`}},
	{"libcoap", "../c-common/program.c", mutant{"client checks its answers",
		`else if (*x.failure && run.failed++ == 0)`, `else if (false)`}},
	{"libcoap", "src/client.c", mutant{"times its phases", `x->serialization = now() - x->begun;`, ``}},
}

func TestKitFindsMutantsOfAdapters(t *testing.T) {
	if testing.Short() {
		t.Skip("takes longer than make check may")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range adapterMutants {
		t.Run(m.stack+" "+filepath.Base(m.file), func(t *testing.T) {
			t.Parallel() // they wait more than they work
			of, err := stack.Read(filepath.Join("..", "..", "stacks", m.stack))
			if err != nil {
				t.Fatal(err)
			}
			if !of.Built() && os.Getenv("CI") == "" {
				t.Skip("not built; edgegauge stacks build " + m.stack)
			}
			in := t.TempDir()
			for _, folder := range []string{m.stack, "c-common", "contract"} {
				if err := os.CopyFS(filepath.Join(in, folder), os.DirFS(filepath.Join("..", "..", "stacks", folder))); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(in, m.stack)
			if err := m.apply(filepath.Join(dir, m.file)); err != nil {
				t.Fatal(err)
			}
			build := "./build.sh"
			if filepath.Ext(m.file) == ".java" { // one class of many: no Maven
				build = "mkdir mutant && javac -nowarn -cp 'build/app.jar:build/lib/*' -d mutant " + m.file +
					" && jar uf build/app.jar -C mutant ."
			}
			sh := exec.Command("sh", "-c", build)
			sh.Dir, sh.Env = dir, append(os.Environ(), quickly)
			if out, err := sh.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			d, err := stack.Read(dir)
			if err != nil {
				t.Fatal(err)
			}
			kit, err := newKit(exe, t.TempDir(), spares(t), d)
			if err != nil {
				t.Fatal(err)
			}
			kit.Parallel = 1
			if !runCheck(t.Context(), d, kit, m.check) {
				t.Errorf("%s instead of %s: not found by %q", m.new, m.old, m.check)
			}
		})
	}
}

// apply changes the file.
func (m mutant) apply(file string) error {
	b, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if !strings.Contains(string(b), m.old) {
		return fmt.Errorf("%s: no %s in it", file, m.old)
	}
	i, err := os.Stat(file)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(strings.ReplaceAll(string(b), m.old, m.new)), i.Mode())
}

func findMutants(t *testing.T, lang, file string, mutants []mutant) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if _, err := writeSkeleton(filepath.Join(dir, "right"), "right", lang); err != nil {
		t.Fatal(err)
	}
	kit, err := newKit(exe, t.TempDir(), spares(t), readStack(t, filepath.Join(dir, "right")))
	if err != nil {
		t.Fatal(err)
	}
	kit.Parallel = 1
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
			if err := m.apply(filepath.Join(name, file)); err != nil {
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
	d = lightly(d)
	if _, err := d.Make(ctx, os.Stderr); err != nil {
		return false, err
	}
	for range 2 { // a busy machine can hide that a mutant waits for a timer of TCP
		found = found || runCheck(ctx, d, kit, check)
	}
	return found, nil
}

// runCheck tells whether a check, and no other is run, fails. That it takes too long finds nothing.
func runCheck(ctx context.Context, d stack.Description, kit conform.Kit, check string) (fails bool) {
	kit.Only = check
	ctx, cancel := context.WithTimeout(ctx, 4*time.Minute)
	defer cancel()
	conform.Run(ctx, d, kit, func(_ string, err error) {
		if err != nil && ctx.Err() == nil {
			fails = true
			cancel()
		}
	})
	return fails
}
