package stack

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
)

const good = `title: Test
version: "1"
language: C
needs: [{program: sh, install: apt-get install dash}]
build: {command: [sh, -c, "mkdir -p build && cp in build/out && echo built"], product: [build/out], inputs: [in]}
serve: {command: [prog, "-Xmx{heap}", serve], heap: 128MB}
serves:
  - {services: [sort, echo], encodings: [xml, json], security: [none, tls], transports: [http], sides: [server, client], connections: [keep-alive]}
  - {services: [sort], encodings: [protobuf], security: [none], transports: [coap], sides: [server], connections: [keep-alive]}
`

func folder(t *testing.T, yaml string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"stack.yaml": yaml, "in": "input 1"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestResolve(t *testing.T) {
	d, err := Read(folder(t, good))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		what       string
		wish, want Wish
		err        string
	}{
		{"defaults are the first of each", Wish{Service: "sort"},
			Wish{"sort", "xml", "none", "http", "server", "keep-alive"}, ""},
		{"a later offer", Wish{Service: "sort", Encoding: "protobuf"},
			Wish{"sort", "protobuf", "none", "coap", "server", "keep-alive"}, ""},
		{"nowhere together", Wish{Service: "echo", Encoding: "protobuf"}, Wish{},
			`encoding "protobuf"; it has xml, json; nor service "echo"; it has sort`},
		{"no such service", Wish{Service: "sum"}, Wish{}, `stack test has no service "sum"`},
	} {
		got, err := d.Resolve(tt.wish)
		switch {
		case tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)):
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.err)
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%s: got %v %v, want %v", tt.what, got, err, tt.want)
		}
	}
}

func TestHeapIsFilledIn(t *testing.T) {
	d, _ := Read(folder(t, good))
	for _, tt := range []struct {
		heap int64
		want string
	}{{0, "-Xmx128000000"}, {1 << 20, "-Xmx1048576"}} {
		argv, err := d.Serve.Argv(tt.heap)
		if err != nil || argv[1] != tt.want {
			t.Errorf("heap %d: got %v %v, want %s", tt.heap, argv, err, tt.want)
		}
	}
}

func TestBrokenDescriptions(t *testing.T) {
	for _, tt := range []struct{ what, yaml, want string }{
		{"unknown key", good + "serve_command: x\n", "serve_command"},
		{"no title", strings.Replace(good, "title: Test", "title: ''", 1), "no title"},
		{"offer without sides", strings.Replace(good, ", sides: [server]", "", 1),
			"stack.yaml: line 9: no sides in serves[1]; "},
		{"offer of services only", "title: x\ncall: {command: [x]}\nserves:\n  - services: [echo]\n    encodings: [json]\n",
			"stack.yaml: line 4: no security, transports, sides, connections in serves[0]; "},
		{"unknown service", strings.Replace(good, "[sort, echo]", "[sort, ecko]", 1),
			`stack.yaml: line 8: there is no service "ecko"; did you mean echo?`},
		{"unknown encoding", "title: x\ncall: {command: [x]}\nserves:\n  - services: [echo]\n    encodings:\n      - json\n" +
			"      - jsn\n    security: [none]\n    transports: [http]\n    sides: [client]\n    connections: [keep-alive]\n",
			`stack.yaml: line 7: there is no encoding "jsn"; did you mean json?`},
		{"unknown transport", strings.Replace(good, "transports: [coap]", "transports: [carrier-pigeon]", 1),
			`stack.yaml: line 9: there is no transport "carrier-pigeon"; write one of http, http2, `},
		{"unknown side", strings.Replace(good, "sides: [server]", "sides: [servr]", 1),
			`stack.yaml: line 9: there is no side "servr"; did you mean server?`},
		{"unknown connection", strings.Replace(good, "connections: [keep-alive]", "connections: [keepalive]", 1),
			`stack.yaml: line 8: there is no connection "keepalive"; did you mean keep-alive?`},
		{"need without advice", strings.Replace(good, ", install: apt-get install dash", "", 1), "install command for sh"},
		{"not YAML", "a: [", "stack.yaml"},
	} {
		if _, err := Read(folder(t, tt.yaml)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
	}
}

func TestBuildOnlyWhenInputsChange(t *testing.T) {
	dir := folder(t, good)
	d, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	build := func() bool {
		did, err := d.Make(t.Context(), new(bytes.Buffer))
		if err != nil {
			t.Fatal(err)
		}
		return did
	}
	if !build() || build() {
		t.Error("want one build, then none")
	}
	sums, err := d.Checksums()
	if err != nil || len(sums) != 1 || len(sums["build/out"]) != 64 {
		t.Errorf("checksums: got %v %v", sums, err)
	}
	os.WriteFile(filepath.Join(dir, "in"), []byte("input 2"), 0o644)
	if !build() {
		t.Error("want a build after an input changed")
	}
	os.Remove(filepath.Join(dir, "build/out"))
	if !build() {
		t.Error("want a build after the product vanished")
	}
}

// A stamp that was committed comes back with the source of its commit, beside the product of another one.
func TestAStampSaysNothingOfAnotherProduct(t *testing.T) {
	dir := folder(t, good)
	d, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	in, product, stamp := filepath.Join(dir, "in"), filepath.Join(dir, "build/out"), d.stamp()
	commit := map[string]string{}
	for _, source := range []string{"version 1", "version 2"} {
		ok(t, os.WriteFile(in, []byte(source), 0o644))
		if did, err := d.Make(t.Context(), io.Discard); !did || err != nil {
			t.Fatalf("%s: built %t, %v", source, did, err)
		}
		text, err := os.ReadFile(stamp)
		ok(t, err)
		commit[source] = string(text)
	}
	checkOut := func(stamp string) {
		t.Helper()
		ok(t, os.WriteFile(in, []byte("version 1"), 0o644))
		ok(t, os.WriteFile(d.stamp(), []byte(stamp), 0o644))
	}
	inputs, _, _ := strings.Cut(commit["version 1"], "\n")
	for what, stamp := range map[string]string{"the commit's": commit["version 1"], "an earlier edgegauge's": inputs} {
		ok(t, os.WriteFile(product, []byte("version 2"), 0o644))
		checkOut(stamp)
		if d.Built() {
			t.Errorf("%s stamp: the product of version 2 counts as built from version 1", what)
		}
		did, err := d.Make(t.Context(), io.Discard)
		if text, _ := os.ReadFile(product); !did || err != nil || string(text) != "version 1" {
			t.Errorf("%s stamp: built %t (%v), the product is of %q", what, did, err, text)
		}
	}
}

// A product that is a folder may hold the stamp.
func TestAStampAmongTheProducts(t *testing.T) {
	dir := folder(t, strings.Replace(good, "product: [build/out]", "product: [build/out, build]", 1))
	d, err := Read(dir)
	ok(t, err)
	if did, err := d.Make(t.Context(), io.Discard); !did || err != nil || !d.Built() {
		t.Fatalf("made %t, %v; built %t", did, err, d.Built())
	}
	if did, err := d.Make(t.Context(), io.Discard); did || err != nil {
		t.Errorf("it was built again: %t, %v", did, err)
	}
	ok(t, os.WriteFile(filepath.Join(dir, "build/more"), []byte("x"), 0o644))
	if d.Built() {
		t.Error("a file more among the products is not noticed")
	}
}

// What is written for readers, or for go test, makes no product.
func TestNoBuildForProse(t *testing.T) {
	dir := folder(t, strings.Replace(good, "inputs: [in]", "inputs: [in, src]", 1))
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		t.Fatal(err)
	}
	put("src/Main.java", "class Main {}")
	d, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Make(t.Context(), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	put("src/README.md", "where the clock is read")
	put("src/sensor_test.go", "package x")
	if !d.Built() {
		t.Error("a page and a Go test among the inputs ask for a build")
	}
	put("src/Other.java", "class Other {}")
	if d.Built() {
		t.Error("another source asks for no build")
	}
}

func TestFailedBuildShowsItsWords(t *testing.T) {
	d, _ := Read(folder(t, strings.Replace(good, "cp in build/out && echo built", "echo no compiler here; exit 3", 1)))
	if _, err := d.Make(t.Context(), new(bytes.Buffer)); err == nil || !strings.Contains(err.Error(), "no compiler here") {
		t.Errorf("got %v, want the build's own words", err)
	}
}

func TestMissingNeeds(t *testing.T) {
	d := Description{Needs: []Need{
		{Program: "sh", Install: "x"},
		{Program: "no-such-program", Install: "apt-get install no-such"},
		{Program: "sh", Args: []string{"-c", "echo version 17"}, Version: "21", Install: "apt-get install sh21"},
		{Env: "NO_SUCH_HOME", Install: "set it"},
		{File: "/no/such/file", Install: "put it there"},
		{Program: "sh", Args: []string{"-c", "echo picked up; echo Error: no VM >&2; exit 1"}, Version: "17", Install: "x"},
	}}
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	missing := d.Missing(t.Context())
	if len(missing) != 5 {
		t.Fatalf("got %v", missing)
	}
	for i, want := range map[int]string{
		0: "no-such-program is missing; run: apt-get install no-such",
		1: "sh 21 is missing (" + sh + ` says: "version 17"); run: apt-get install sh21`,
		4: "sh 17 is missing (" + sh + " does not work: -c echo picked up; echo Error: no VM >&2; exit 1: exit status 1: " +
			`"Error: no VM"); run: x`,
	} {
		if got := missing[i].String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What a stack's programs need is looked for where they will run: without the user's variables, and with their own.
func TestNeedsAreMetWhereProgramsRun(t *testing.T) {
	t.Setenv("BREAKS", "yes")
	t.Setenv("HELPS", "yes")
	needs := []Need{{Program: "sh", Args: []string{"-c", `[ -z "$BREAKS" ] && [ -n "$OWN" ] && echo version 17`},
		Version: "17", Install: "x"}}
	d := Description{Needs: needs, Serve: Program{Command: []string{"sh", "-c"}, Env: []string{"OWN=yes"}}}
	if missing := d.Missing(t.Context()); len(missing) > 0 {
		t.Errorf("what the program never sees is held against it: %v", missing)
	}
	d.Needs = []Need{{Program: "sh", Args: []string{"-c", `echo "${HELPS:?}"`}, Install: "x"}}
	if missing := d.Missing(t.Context()); len(missing) != 1 || !strings.Contains(missing[0].String(), "does not work") {
		t.Errorf("what the program will lack is not missed: %v", missing)
	}
	d.Serve = Program{Command: []string{"build/server"}} // sh only builds
	if missing := d.Missing(t.Context()); len(missing) > 0 {
		t.Errorf("the build has all that the user has: %v", missing)
	}
}

// A version is that of what a program prints, and no part of another number.
func TestVersionsOfPrograms(t *testing.T) {
	for _, tt := range []struct {
		version, output string
		want            bool
	}{
		{"17", "openjdk version \"17.0.15\" 2025-04-15", true},
		{"17", "openjdk version \"11.0.17\" 2022-10-18", false},
		{"17", "openjdk version \"21.0.2\" 2024-01-17", false},
		{"17", "openjdk version \"21.0.17\" 2024-01-17\njavac 17", true},
		{"17", "javac 17", true},
		{"17", "javac 170", false},
		{"1.8.", "java version \"1.8.0_202\"", true},
		{"1.8.", "java version \"11.8.0\"", false},
		{"version 6.", "Mono JIT compiler version 6.8.0.105", true},
		{"2.8", "The gSOAP Stub and Skeleton Compiler for C and C++, soapcpp2 2.8.124", true},
		{"3", "Apache Maven 3.8.7", true},
		{"1.", "protobuf-c 1.4.1\nlibprotoc 3.21.12", true},
		{"1.", "protobuf-c 21.4.0", false},
		{"", "anything", true},
		{"", "", true},
	} {
		if got := (Need{Version: tt.version}).is(tt.output); got != tt.want {
			t.Errorf("%q in %q: got %v", tt.version, tt.output, got)
		}
	}
}

// What a command begins with is looked for where the program will be, whether or not a need names it.
func TestProgramsNotFound(t *testing.T) {
	for want, d := range map[string]Description{
		"":        {Serve: Program{Command: []string{"sh", "-c"}}, Call: Program{Command: []string{"build/none"}}},
		"python9": {Serve: Program{Command: []string{"python9", "x.py"}}},
		"ruby9":   {Serve: Program{Command: []string{"sh"}}, Call: Program{Command: []string{"ruby9"}}},
	} {
		if got := d.NotFound(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	elsewhere := Description{Serve: Program{Command: []string{"python9"}, Env: []string{"PATH=/opt"}}}
	if got := elsewhere.NotFound(); got != "" {
		t.Errorf("got %q, which its own PATH may have", got)
	}
}

// A build that fails, or is ended, in its middle leaves products of two sources. With the old source again they are no
// more up to date.
func TestAHalfBuildIsNoBuild(t *testing.T) {
	dir := folder(t, strings.Replace(good, "cp in build/out && echo built",
		"cp in build/out && if grep -q bad in; then exit 3; fi && cp in build/other", 1))
	d, err := Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "in"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	made := func() bool {
		t.Helper()
		did, err := d.Make(t.Context(), io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		return did
	}
	if !made() {
		t.Error("it was built before")
	}
	write("bad")
	if _, err := d.Make(t.Context(), io.Discard); err == nil {
		t.Fatal("the bad source was built")
	}
	write("input 1")
	if d.Built() || !made() {
		t.Error("what the bad source left counts as built from the good one")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "build/out")); string(text) != "input 1" {
		t.Errorf("the product is of %q (%v)", text, err)
	}
}

// Once it is built, a stack needs no compiler here; it does again when an input has changed, or where nobody knows
// which needs are those of its programs.
func TestABuiltStackNeedsNoCompiler(t *testing.T) {
	needs := "needs: [{program: sh, install: x}, {program: no-such-compiler, install: get one}]\n"
	yaml := strings.Replace(strings.Replace(good, "needs: [{program: sh, install: apt-get install dash}]\n", "", 1),
		"[prog, ", "[sh, ", 1)
	build := func(yaml string) (string, Description) {
		t.Helper()
		dir := folder(t, yaml)
		d, err := Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Make(t.Context(), io.Discard); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(yaml, "serve:", needs+"serve:", 1)
		if err := os.WriteFile(filepath.Join(dir, "stack.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if d, err = Read(dir); err != nil {
			t.Fatal(err)
		}
		sum, err := d.digests() // as if it had been built with these needs
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.stamp(), []byte(sum), 0o644); err != nil {
			t.Fatal(err)
		}
		return dir, d
	}
	missing := func(d Description) (names []string) {
		for _, n := range d.Missing(t.Context()) {
			names = append(names, n.Program)
		}
		return names
	}
	dir, d := build(yaml)
	if got := missing(d); len(got) > 0 {
		t.Errorf("built: %v is missing", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "in"), []byte("input 2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := missing(d); len(got) != 1 || got[0] != "no-such-compiler" {
		t.Errorf("with a changed input: got %v, want the compiler", got)
	}
	if _, d = build(strings.Replace(yaml, "[sh, \"-Xmx", "[./start, \"-Xmx", 1)); len(missing(d)) != 1 {
		t.Errorf("started by a script: got %v, want the compiler", missing(d))
	}
	if _, d = build(strings.Replace(yaml, "inputs: [in]", "inputs: [in], native: true", 1)); len(missing(d)) != 1 {
		t.Errorf("native: got %v, want the compiler", missing(d))
	}
}

// A need is tried for no longer than its program takes, though a child of it keeps the output open.
func TestNeedWhoseProgramLeavesAChild(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	d := Description{Needs: []Need{{Program: "sh", Version: "17",
		Args: []string{"-c", "sleep 1000 & echo $! >" + file + "; echo version 17"}}}}
	tried := make(chan []Need, 1)
	go func() { tried <- d.Missing(t.Context()) }()
	select {
	case missing := <-tried:
		if len(missing) > 0 {
			t.Errorf("it is said to be missing: %v", missing)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// A build that another holds up, which may be stopped, is waited for as long as somebody wants it.
func TestBuildBehindOneThatNeverEnds(t *testing.T) {
	d, err := Read(folder(t, good))
	if err != nil {
		t.Fatal(err)
	}
	held, err := kernel.LockFolder(d.Dir)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	built := make(chan error, 1)
	go func() {
		_, err := d.Make(ctx, io.Discard)
		built <- err
	}()
	select {
	case err := <-built:
		if !errors.Is(err, kernel.ErrLocked) {
			t.Errorf("got %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("it is waited for")
	}
}

func TestLoadKeepsTheGoodBesideTheBroken(t *testing.T) {
	a, b := folder(t, good), folder(t, "title: x\n")
	all, err := Load(filepath.Dir(a), filepath.Dir(b), "/no/such/folder")
	if len(all) != 1 || all[0].Dir != a || err == nil {
		t.Errorf("got %v %v, want the good one and an error", all, err)
	}
}

// A board that gets jar files needs no compiler; one that compiles needs all.
func TestRunNeeds(t *testing.T) {
	d := Description{
		Needs: []Need{{Program: "java"}, {Program: "javac"}, {File: "/usr/bin/wsdl"}, {Env: "JAVA8_HOME"}},
		Serve: Program{Command: []string{"java", "Main", "serve"}},
	}
	if got := d.RunNeeds(); len(got) != 2 || got[0].Program != "java" || got[1].Env != "JAVA8_HOME" {
		t.Errorf("got %v, want java and the variable", got)
	}
	d.Build.Native = true
	if got := d.RunNeeds(); len(got) != 4 {
		t.Errorf("got %v, want all where the stack is built", got)
	}
}
