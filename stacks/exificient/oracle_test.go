// Package exificient holds the Go codec of EXI to what EXIficient writes and
// reads; see README.md.
package exificient

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack/stacktest"
)

const contract = "../contract"

// A pair is what EXIficient makes out of what.
type pair struct{ exi, xml codec.Encoding }

var encodings = []pair{
	{codec.EXISchema, codec.XML},
	{codec.SOAP12EXISchema, codec.SOAP12},
	{codec.EXISchemaCompressed, codec.XML},
	{codec.SOAP12EXISchemaCompressed, codec.SOAP12},
}

// An oracle is the Java program at work.
type oracle struct {
	in  io.Writer
	out *bufio.Reader
}

// consult builds it, and starts it for all tests: its virtual machine takes longer than most of them.
func consult(t *testing.T) *oracle {
	t.Helper()
	for _, p := range []string{"java", "javac", "mvn"} {
		if _, err := exec.LookPath(p); err != nil {
			t.Skip("needs " + p + ": apt-get install openjdk-17-jdk-headless maven")
		}
	}
	o, err := started()
	if err != nil {
		t.Fatal(err)
	}
	return o
}

var started = sync.OnceValues(func() (*oracle, error) {
	if out, err := exec.Command("./build.sh").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build.sh: %w\n%s", err, out)
	}
	cmd := exec.Command("java", "-Xmx512m", "-cp", "build/app.jar:build/lib/*", "Oracle", contract)
	cmd.Env = append(os.Environ(), stacktest.Quickly)
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end = func() error {
		in.Close()
		return cmd.Wait()
	}
	return &oracle{in, bufio.NewReader(out)}, nil
})

// end ends the oracle, if there is one.
var end = func() error { return nil }

func TestMain(m *testing.M) {
	code := m.Run()
	if err := end(); err != nil {
		fmt.Println("the oracle ended with", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// do asks one question; the error is what EXIficient refused with.
func (o *oracle) do(t *testing.T, verb string, enc codec.Encoding, b []byte) ([]byte, error) {
	t.Helper()
	if _, err := fmt.Fprintf(o.in, "%s %s %s\n", verb, enc, base64.StdEncoding.EncodeToString(b)); err != nil {
		t.Fatal(err)
	}
	line, err := o.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	line = strings.TrimSpace(line)
	if why, refused := strings.CutPrefix(line, "! "); refused {
		return nil, errors.New(why)
	}
	answer, err := base64.StdEncoding.DecodeString(line)
	if err != nil {
		t.Fatal(err)
	}
	return answer, nil
}

// must is do for what EXIficient has to take.
func (o *oracle) must(t *testing.T, verb string, enc codec.Encoding, b []byte) []byte {
	t.Helper()
	answer, err := o.do(t, verb, enc, b)
	if err != nil {
		t.Fatalf("EXIficient: %s %s of %q: %v", verb, enc, b, err)
	}
	return answer
}

// The golden messages in XML and SOAP 1.2, as EXIficient has them and as we do.
func TestGolden(t *testing.T) {
	o := consult(t)
	for _, e := range encodings {
		paths, err := filepath.Glob(filepath.Join(contract, "golden", "*-*.re*."+string(e.xml)))
		if err != nil || len(paths) < 80 {
			t.Fatal(len(paths), err)
		}
		for _, path := range paths {
			xml, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			message, _, _ := strings.Cut(filepath.Base(path), ".")
			text, _, _ := strings.Cut(message, "-")
			var m service.Message
			response := strings.Contains(path, ".response.")
			if err := codec.Decode(e.xml, xml, service.Name(text), response, &m); err != nil {
				t.Fatal(path, err)
			}
			o.cross(t, service.Name(text), response, &m)
		}
	}
}

// TestBothWays crosses the codecs over messages that no golden file has.
func TestBothWays(t *testing.T) {
	o := consult(t)
	for _, name := range service.Names() {
		for _, c := range []struct {
			n     int
			width service.Width
		}{
			{0, service.Width{}}, {1, service.Width{}}, {2, service.Width{}}, {3, service.Width{}}, {4, service.Width{}},
			{1023, service.Width{}}, {20000, service.Width{}},
			{300, service.Width{Letters: 1, Max: 7}}, // few different strings: the table
			{3000, service.Width{Letters: 2, Max: service.MaxHundredths / 4000}},
		} {
			var req, resp service.Message
			service.Make(name, uint64(c.n)+11, c.n, c.width, &req)
			env := service.Env{
				Keep:   func(data, back []byte) ([]byte, error) { return append(back, data...), nil },
				Sensor: func() (int64, int64, error) { return -1234, 1700000000123, nil },
			}
			if err := service.Answer(name, &req, &resp, env); err != nil {
				t.Fatal(err)
			}
			o.cross(t, name, false, &req)
			o.cross(t, name, true, &resp)
		}
	}
	for _, m := range odd() {
		for _, name := range service.Names() {
			o.cross(t, name, false, &m)
			o.cross(t, name, true, &m)
		}
	}
}

// odd are messages that no seed makes.
func odd() []service.Message {
	const most = service.MaxHundredths
	text := func(s string) []byte { return []byte(s) }
	list := func(s ...string) (all [][]byte) {
		for _, x := range s {
			all = append(all, []byte(x))
		}
		return
	}
	wide := strings.Repeat("añ€😀\r\n\t<&>]]>\u0085\U0010ffff", 50)
	return []service.Message{
		{Strings: list("", "", "a", "", "a", "b", "b", "a", "c", "\r", "é", "é"), Text: text("é"), Data: text("\x00"),
			Digest: text("\xff"),
			Record: service.Record{ID: text("same"), Message: text("same")}},
		{Strings: list(wide, "x"+wide, wide, "", wide+"x", wide), Text: text(wide), Total: -1, Celsius: most, Time: -1 << 63,
			Sequence: -1 << 31,
			Ints:     []int32{-1 << 31, 1<<31 - 1, -1, 0, 1, -64, -65, 63, 64, 127, 128, 16383, 16384},
			Data:     text(wide), Digest: nil,
			Hundredths: []int64{most, -most, most - 1, 1, -1, 10, -10, 100, 1001, 12800, 12799},
			Record: service.Record{ID: text(wide), Status: -1, Sequence: 1<<31 - 1, Temperature: -most, Pressure: 10,
				Running: true, Message: text(wide + " ")}},
		{Total: most, Time: 1<<63 - 1, Accepted: true, Record: service.Record{Message: text("only")}},
		{Total: -most + 1, Time: 1 << 62, Text: text(" "), Record: service.Record{ID: text("only")}},
	}
}

func (o *oracle) cross(t *testing.T, name service.Name, response bool, m *service.Message) {
	t.Helper()
	for _, e := range encodings {
		o.crossIn(t, e, name, response, m)
	}
}

func (o *oracle) crossIn(t *testing.T, e pair, name service.Name, response bool, m *service.Message) {
	t.Helper()
	xml := codec.Append(e.xml, nil, name, response, m)
	ours := codec.Append(e.exi, nil, name, response, m)
	theirs := o.must(t, "encode", e.exi, xml)
	if !compressed(e.exi) && !bytes.Equal(ours, theirs) {
		t.Fatalf("%s %s: we write\n%x, EXIficient\n%x for\n%.2000q", e.exi, name, clip(ours), clip(theirs), xml)
	}
	var read service.Message
	if err := codec.Decode(e.exi, theirs, name, response, &read); err != nil {
		t.Fatalf("%s %s: we cannot read what EXIficient writes: %v", e.exi, name, err)
	}
	if got := codec.Append(e.xml, nil, name, response, &read); !bytes.Equal(got, xml) {
		t.Fatalf("%s %s: we read\n%.2000q, want\n%.2000q", e.exi, name, got, xml)
	}
	back := o.must(t, "decode", e.exi, ours)
	if err := codec.Decode(e.xml, back, name, response, &read); err != nil {
		t.Fatalf("%s %s: EXIficient reads ours as %v: %.2000q", e.exi, name, err, back)
	}
	if got := codec.Append(e.xml, nil, name, response, &read); !bytes.Equal(got, xml) {
		t.Fatalf("%s %s: EXIficient reads\n%.2000q, want\n%.2000q", e.exi, name, got, xml)
	}
}

// compressed says that the bytes are a matter of who deflates.
func compressed(enc codec.Encoding) bool {
	return enc == codec.EXISchemaCompressed || enc == codec.SOAP12EXISchemaCompressed
}

func clip(b []byte) []byte { return b[:min(len(b), 1000)] }

// Numbers may be written in more places and texts than we write: EXIficient
// makes EXI of them that we must read as XML is read.
func TestOtherTexts(t *testing.T) {
	o := consult(t)
	const ns = ` xmlns="` + codec.Namespace + `"`
	for _, x := range []struct {
		name     service.Name
		response bool
		xml      string
	}{
		{service.Sum, false,
			"<sum" + ns +
				"><x>+0012.3400</x><x>-0</x><x>.005</x><x>-.00499999999999999999999999999999999999999</x><x>1.00500000000000000000000000000000000001</x><x>7.995</x><x>-0.995</x></sum>"},
		{service.Sort, false, "<sort" + ns + "><n>+007</n><n>-0</n></sort>"},
		{service.Monitor, true, "<m:monitorResponse xmlns:m='" + codec.Namespace +
			"'> <m:accepted>1</m:accepted><!-- --><m:sequence> 5 </m:sequence></m:monitorResponse>"},
		{service.IO, false, "<io" + ns + "><data> AAEC\n/w== </data></io>"},
		{service.Echo, false, "<echo" + ns + "><text> a<![CDATA[<]]> &#x10FFFF;</text></echo>"},
	} {
		for _, enc := range []codec.Encoding{codec.EXISchema, codec.EXISchemaCompressed} {
			exi := o.must(t, "encode", enc, []byte(x.xml))
			var want, got service.Message
			if err := codec.Decode(codec.XML, []byte(x.xml), x.name, x.response, &want); err != nil {
				t.Fatal(x.xml, err)
			}
			if err := codec.Decode(enc, exi, x.name, x.response, &got); err != nil {
				t.Errorf("%s as %x: %v", x.xml, exi, err)
				continue
			}
			a, b := codec.Append(codec.XML, nil, x.name, x.response, &want),
				codec.Append(codec.XML, nil, x.name, x.response, &got)
			if !bytes.Equal(a, b) {
				t.Errorf("%s in %s is read as %s", x.xml, enc, b)
			}
		}
	}
}

// Faults are what EXIficient writes, and reads.
func TestFaults(t *testing.T) {
	o := consult(t)
	for _, f := range []codec.Fault{{Code: codec.Sender, Reason: "no <such> thing"}, {Code: codec.Receiver, Reason: "en"},
		{Code: codec.MustUnderstand},
		{Code: codec.VersionMismatch, Reason: strings.Repeat("wörter ", 100) + "."}} {
		for _, enc := range []codec.Encoding{codec.SOAP12EXISchema, codec.SOAP12EXISchemaCompressed} {
			ours := codec.AppendFault(enc, nil, &f)
			theirs := o.must(t, "encode", enc, codec.AppendFault(codec.SOAP12, nil, &f))
			if !compressed(enc) && !bytes.Equal(ours, theirs) {
				t.Errorf("%v: we write\n%x, EXIficient\n%x", f, ours, theirs)
			}
			var m service.Message
			var got *codec.Fault
			if err := codec.Decode(enc, theirs, service.Echo, true, &m); !errors.As(err, &got) || *got != f {
				t.Errorf("%s: %v is read as %v", enc, f, err)
			}
			if back := o.must(t, "decode", enc, ours); !bytes.Contains(back, []byte("soap:"+f.Code)) {
				t.Errorf("%s: %v: EXIficient reads %s", enc, f, back)
			}
		}
	}
}

// More values than a block holds, and as many.
func TestBlocks(t *testing.T) {
	o := consult(t)
	for _, n := range []int{1_000_000, 1_000_101} {
		m := service.Message{Ints: make([]int32, n)}
		for i := range m.Ints {
			m.Ints[i] = int32(i % 50)
		}
		o.crossIn(t, pair{codec.EXISchemaCompressed, codec.XML}, service.Sort, false, &m)
	}
}
