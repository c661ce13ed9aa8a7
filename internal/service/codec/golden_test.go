package codec

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

// golden is what stacks/contract/golden.py made, which shares no code with us.
const golden = "../../../stacks/contract/golden"

// A vector is a golden file, and what its name says.
type vector struct {
	path     string
	message  string // service-n-seed[-width], or service-what
	service  service.Name
	response bool
	what     string // of a variant or a refused message
	enc      Encoding
	bytes    []byte
}

// vectors reads the files of a folder of golden/; fewer than least is an error.
func vectors(t testing.TB, folder string, least int) (all []vector) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(golden, folder, "*-*.re*"))
	if folder == "refused" {
		paths, err = filepath.Glob(filepath.Join(golden, folder, "*.request.*"))
	}
	if err != nil || len(paths) < least {
		t.Fatalf("%s: %d files, want at least %d: %v", folder, len(paths), least, err)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		v := parseName(t, filepath.Base(path))
		v.path, v.bytes = path, b
		all = append(all, v)
	}
	return all
}

func parseName(t testing.TB, name string) (v vector) {
	t.Helper()
	parts := strings.Split(name, ".")
	text, _, _ := strings.Cut(parts[0], "-")
	s, err := service.Parse(text)
	if err != nil {
		t.Fatal(name, err)
	}
	v.message, v.service, v.response = parts[0], s, parts[1] == "response"
	if len(parts) == 4 {
		v.what = parts[2]
	}
	ext := parts[len(parts)-1]
	if v.enc = Encoding(ext); ext == "pb" {
		v.enc = Protobuf
	}
	return v
}

// made makes the message that name means, request or response.
func made(t testing.TB, name string, s service.Name, response bool) *service.Message {
	t.Helper()
	req, resp := handMade(name), new(service.Message)
	if req == nil {
		req = fromSeed(t, name, s)
	}
	if err := service.Answer(s, req, resp, env); err != nil {
		t.Fatal(name, err)
	}
	return side(response, req, resp)
}

func fromSeed(t testing.TB, name string, s service.Name) *service.Message {
	t.Helper()
	parts := strings.Split(name, "-")
	n, err := strconv.Atoi(parts[1])
	seed, err2 := strconv.ParseUint(parts[2], 10, 64)
	var w service.Width
	var err3 error
	for _, p := range parts[3:] {
		if digits, ok := strings.CutPrefix(p, "letters"); ok {
			w.Letters, err3 = strconv.Atoi(digits)
		} else {
			w.Max, err3 = strconv.ParseUint(strings.TrimPrefix(p, "max"), 10, 64)
		}
	}
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(name, err)
	}
	m := new(service.Message)
	service.Make(s, seed, n, w, m)
	return m
}

// handMade are the messages of golden.py's HAND.
func handMade(name string) *service.Message {
	switch name {
	case "echo-escapes":
		return &service.Message{Text: []byte("<&>\"'\\/ ]]> \r\n\t\u007f\u0085é€\ufffd😀\U0010ffff")}
	case "echo-controls":
		var m service.Message
		for c := range byte(32) {
			m.Text = append(m.Text, c)
		}
		return &m
	case "sort-edges":
		return &service.Message{Ints: []int32{-1 << 31, -1<<31 + 1, -65537, -65536, -32769, -32768, -257, -256, -129,
			-128, -33, -32,
			-25, -24, -1, 0, 23, 24, 31, 32, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1<<31 - 1}}
	case "sum-edges":
		const e15 = 1_000_000_000_000_000
		return &service.Message{Hundredths: []int64{0, 1, -1, -5, 99, -99, 100, -100, 12345, e15, -e15, 1 - e15}}
	case "concat-lengths":
		var m service.Message
		for _, n := range []int{0, 1, 23, 24, 31, 32, 255, 256} {
			m.Strings = append(m.Strings, bytes.Repeat([]byte("a"), n))
		}
		return &m
	case "monitor-least":
		return &service.Message{Record: service.Record{Status: -1, Sequence: -1 << 31, Temperature: -5}}
	}
	return nil
}

// Our bytes are the golden bytes, and the golden bytes can be read.
func TestGolden(t *testing.T) {
	seen := map[string]int{}
	for _, v := range vectors(t, "", 400) {
		seen[fmt.Sprint(v.service, v.enc, v.response)]++
		m := made(t, v.message, v.service, v.response)
		if got := Append(v.enc, nil, v.service, v.response, m); !bytes.Equal(got, v.bytes) {
			t.Errorf("%s: wrote\n%q, want\n%q", v.path, got, v.bytes)
		}
		reads(t, v, v.bytes)
	}
	if len(seen) != 8*8*2 {
		t.Errorf("%d of services × encodings × sides, want %d", len(seen), 8*8*2)
	}
}

// Other bytes of the same meaning are read as the golden message they stand for.
func TestVariants(t *testing.T) {
	for _, v := range vectors(t, "variants", 300) {
		want := Append(v.enc, nil, v.service, v.response, made(t, v.message, v.service, v.response))
		reads(t, v, want)
	}
}

// reads decodes the vector's bytes, over what another message left behind, and
// compares the canonical bytes with want.
func reads(t *testing.T, v vector, want []byte) {
	t.Helper()
	m, _ := exchange(t, v.service, 99, 5, service.Width{})
	if v.response {
		_, m = exchange(t, v.service, 99, 5, service.Width{})
	}
	if err := Decode(v.enc, v.bytes, v.service, v.response, m); err != nil {
		t.Errorf("%s: %v in\n%q", v.path, err, v.bytes)
	} else if got := Append(v.enc, nil, v.service, v.response, m); !bytes.Equal(got, want) {
		t.Errorf("%s: read as\n%q, want\n%q", v.path, got, want)
	}
}

func TestRefused(t *testing.T) {
	for _, v := range vectors(t, "refused", 100) {
		var m service.Message
		err := Decode(v.enc, v.bytes, v.service, v.response, &m)
		if err == nil {
			t.Errorf("%s was taken: %q", v.path, v.bytes)
			continue
		}
		want := map[string]FaultCode{"must-understand": MustUnderstand, "version": VersionMismatch}[v.what]
		if want == "" {
			want = Sender
		}
		if got := FaultOf(err).Code; got != want {
			t.Errorf("%s: fault code is %s, want %s", v.path, got, want)
		}
	}
}

func TestSums(t *testing.T) {
	file, err := os.Open(filepath.Join(golden, "sums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	count := 0
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var sum, name string
		var size int
		if _, err := fmt.Sscanf(lines.Text(), "%64s %d %s", &sum, &size, &name); err != nil {
			continue // the heading
		}
		count++
		v := parseName(t, name)
		b := Append(v.enc, nil, v.service, v.response, made(t, v.message, v.service, v.response))
		if got := fmt.Sprintf("%x", sha256.Sum256(b)); got != sum || len(b) != size {
			t.Errorf("%s: %d bytes %s, want %d bytes %s", name, len(b), got, size, sum)
		}
	}
	if count != 7*2*2*8 {
		t.Errorf("%d sums, want %d", count, 7*2*2*8)
	}
}

func TestFaults(t *testing.T) {
	index, err := os.ReadFile(filepath.Join(golden, "faults", "faults.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(index)), "\n")
	if len(lines) < 7 {
		t.Fatalf("%d faults, want 7", len(lines))
	}
	for _, line := range lines {
		part := strings.Split(line, "\t")
		name, want := part[0], &Fault{FaultCode(part[1]), part[2]}
		b, err := os.ReadFile(filepath.Join(golden, "faults", name))
		if err != nil {
			t.Fatal(err)
		}
		_, ext, _ := strings.Cut(name, ".")
		var got *Fault
		var m service.Message
		if err := Decode(Encoding(ext), b, service.Echo, true, &m); !errors.As(err, &got) || *got != *want {
			t.Errorf("%s: read as %v, want %v", name, err, want)
		}
		canonical := AppendFault(Encoding(ext), nil, want)
		if wrote := bytes.Equal(canonical, b); wrote != (strings.HasPrefix(name, "sender") ||
			strings.HasPrefix(name, "receiver")) {
			t.Errorf("%s: wrote %q, golden is %q", name, canonical, b)
		}
	}
}
