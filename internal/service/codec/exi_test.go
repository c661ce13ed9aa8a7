package codec

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/service"
)

// exiVectors are what EXIficient made of golden messages. stacks/exificient
// holds us to it in far more messages than these.
func exiVectors(t testing.TB) (all []vector) {
	t.Helper()
	for _, enc := range []Encoding{EXISchema, SOAP12EXISchema, EXISchemaCompressed, SOAP12EXISchemaCompressed} {
		paths, err := filepath.Glob("../../../stacks/contract/compact/*-*.re*." + string(enc))
		if err != nil || len(paths) < 10 {
			t.Fatalf("%s: %d files, %v", enc, len(paths), err)
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
	}
	return all
}

func TestGoldenEXI(t *testing.T) {
	for _, v := range exiVectors(t) {
		m := made(t, v.message, v.service, v.response)
		packed := strings.HasSuffix(string(v.enc), "compressed") // its bytes are a matter of who deflates
		if got := Append(v.enc, nil, v.service, v.response, m); !packed && !bytes.Equal(got, v.bytes) {
			t.Errorf("%s: wrote\n%x, want\n%x", v.path, got, v.bytes)
		}
		reads(t, v, Append(v.enc, nil, v.service, v.response, m))
		for n := range v.bytes { // whatever is cut is refused
			var m service.Message
			if err := Decode(v.enc, v.bytes[:n], v.service, v.response, &m); err == nil {
				t.Errorf("%s: %d of %d bytes were taken", v.path, n, len(v.bytes))
			}
		}
	}
}

// exiBits makes bytes of bits written as 0 and 1; spaces are for the reader.
func exiBits(text string) []byte {
	var w bitWriter
	for _, c := range strings.ReplaceAll(text, " ", "") {
		w.put(uint64(c-'0'), 1)
	}
	return w.flush()
}

const exiStart = "10000000 "

// hostileEXI are streams to be refused, with a word of why.
func hostileEXI() []struct {
	name     service.Name
	response bool
	b        []byte
	why      string
} {
	most := strings.Repeat("11111111 ", 9) + "00000001 " // 2^64-1
	var all []struct {
		name     service.Name
		response bool
		b        []byte
		why      string
	}
	add := func(name service.Name, response bool, b []byte, why string) {
		all = append(all, struct {
			name     service.Name
			response bool
			b        []byte
			why      string
		}{name, response, b, why})
	}
	const echo, sort, sum, concat, io, monitor = exiStart + "00010 ", exiStart + "01010 ", exiStart + "01100 ",
		exiStart + "00000 ", exiStart + "00100 ", exiStart + "01000 "
	add(service.Echo, false, nil, "truncated")
	add(service.Echo, false, []byte("$EXI\x80\x10\x08"), "header")
	add(service.Echo, false, exiBits("10100000 00010 0 00000010"), "header")            // options in the stream
	add(service.Echo, false, exiBits("10010000 00010 0 00000010"), "header")            // a preview version
	add(service.Echo, false, exiBits("10000001 00010 0 00000010"), "header")            // version 2
	add(service.Echo, false, exiBits(exiStart+"00011 0 00000010"), "root")              // another message
	add(service.Echo, false, exiBits(exiStart+"10000 0 00000010"), "root")              // none of the schema's
	add(service.Echo, false, exiBits(echo+"1 00000010"), "xsi:type")                    //
	add(service.Echo, false, exiBits(echo+"0 00000000"), "not in the table")            // of its element
	add(service.Echo, false, exiBits(echo+"0 00000001"), "not in the table")            // of all
	add(service.Echo, false, exiBits(echo+"0 "+most), "truncated")                      // 2^64-3 characters
	add(service.Echo, false, exiBits(echo+"0 11111111 11111111 00000111"), "truncated") // 131,069
	add(service.Echo, false, exiBits(echo+"0 "+strings.Repeat("11111111 ", 9)+"00000010"), "too large")
	add(service.Echo, false, exiBits(echo+"0 "+strings.Repeat("10000000 ", 1_000_000)+"00000000"), "too large")
	add(service.Echo, false, exiBits(echo+"0 00000011 00000000"), "character")                            // U+0000
	add(service.Echo, false, exiBits(echo+"0 00000011 10000000 10110000 00000011"), "character")          // U+D800
	add(service.Echo, false, exiBits(echo+"0 00000011 11111111 11111111 00000011"), "character")          // U+FFFF
	add(service.Echo, false, exiBits(echo+"0 00000011 10000000 10000000 11000100 00000000"), "character") // U+110000
	add(service.Echo, false, exiBits(echo+"0 00000011 10000000 10000000 10000000 10000000 00010000"), "character")
	add(service.Echo, false, exiBits(echo+"0 00000010 00 00000000"), "after the message")
	add(service.Sort, false, exiBits(sort+"0 1 0 00000001 1"), "xsi:type")
	// 2^31
	add(service.Sort, false, exiBits(sort+"0 0 0 10000000 10000000 10000000 10000000 00001000 1"),
		"out of the range of int32")
	add(service.Sort, false, exiBits(sort+"0 0 1 10000000 10000000 10000000 10000000 00001000 1"),
		"out of the range of int32")
	add(service.Sort, false, exiBits(sort+"0 0 0 "+most+"1"), "out of range")
	add(service.Sort, false, exiBits(sort+strings.Repeat("0 0 0 00000001 ", 100)), "truncated") // never ends
	add(service.Sum, false, exiBits(sum+"0 0 0 "+most+"00000000 1"), "out of range")
	// 10^13 and .1
	add(service.Sum, false, exiBits(sum+"0 0 0 10000000 11000000 11001010 11110011 10000100 10100011 00000010 00000001 1"),
		"out of range")
	// a fraction without end
	add(service.Sum, false, exiBits(sum+"0 0 0 00000001 "+strings.Repeat("11111111", 1000)), "truncated")
	add(service.Temperature, true, exiBits(exiStart+"01111 0 0 00000001 00000000 0 1 "+most), "out of range")
	add(service.Concat, false, exiBits(concat+"0 0 00000000 1"), "not in the table")
	// place 3 of 3
	add(service.Concat, false, exiBits(concat+
		"0 0 00000011 01100001 0 0 00000011 01100010 0 0 00000011 01100011 0 0 00000000 11 1"), "not in the table")
	add(service.IO, false, exiBits(io+most), "truncated")
	add(service.IO, false, exiBits(io+"11111111 11111111 11111111 00000111"), "truncated") // 16 MB
	add(service.Monitor, false, exiBits(monitor+"0 00000001"), "not in the table")
	return all
}

func TestHostileEXI(t *testing.T) {
	for _, x := range hostileEXI() {
		var m service.Message
		began := time.Now()
		err := Decode(EXISchema, x.b, x.name, x.response, &m)
		if err == nil || !strings.Contains(err.Error(), x.why) {
			t.Errorf("%s %.40x: got %v, want something of %q", x.name, x.b, err, x.why)
		}
		if made := cap(m.Text) + cap(m.Arena) + cap(m.Data) + 24*cap(m.Strings) + 4*cap(m.Ints) +
			8*cap(m.Hundredths); made > 1000 {
			t.Errorf("%s %.40x: %d bytes were made", x.name, x.b, made)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s %.40x: refused after %v", x.name, x.b, took)
		}
	}
}

// What stands in the padding is nobody's business.
func TestEXIPadding(t *testing.T) {
	var m service.Message
	if err := Decode(EXISchema, exiBits(exiStart+"00010 0 00000010 11"), service.Echo, false, &m); err != nil {
		t.Error(err)
	}
}

// A string in the table costs 13 bits, however long it is: a few kilobytes
// would say gigabytes. They are bounded where it matters, and lie once in
// memory in any case.
func TestEXIOfManyLongStrings(t *testing.T) {
	long := bytes.Repeat([]byte("long"), 1<<14)
	m := service.Message{Strings: [][]byte{long}}
	for range 100_000 {
		m.Strings = append(m.Strings, long)
	}
	b := Append(EXISchema, nil, service.Concat, false, &m)
	if len(b) > 300_000 {
		t.Fatalf("%d bytes", len(b))
	}
	var got service.Message
	if err := DecodeWithin(EXISchema, b, service.Concat, false, &got, 16e6); !errors.Is(err, ErrTooLarge) {
		t.Errorf("6.5 GB from %d bytes: %v", len(b), err)
	}
	if err := DecodeWithin(EXISchema, b, service.Concat, false, &got, len(long)*len(m.Strings)); err != nil ||
		len(got.Strings) != len(m.Strings) || cap(got.Arena) > 2*len(long) {
		t.Errorf("%v, %d strings in %d bytes", err, len(got.Strings), cap(got.Arena))
	}
	if err := DecodeWithin(EXISchema, b, service.Concat, false, &got, len(long)*len(m.Strings)-1); !errors.Is(err,
		ErrTooLarge) {
		t.Error("a byte more than the limit passes:", err)
	}
}

func TestEXIAllocatesNothing(t *testing.T) {
	for _, enc := range []Encoding{EXISchema, SOAP12EXISchema} {
		for _, name := range service.Names() {
			req, _ := exchange(t, name, 7, 500, service.Width{Letters: 2}) // strings come again
			var b []byte
			var m service.Message
			both := func() {
				b = Append(enc, b[:0], name, false, req)
				if err := Decode(enc, b, name, false, &m); err != nil {
					t.Fatal(err)
				}
			}
			both()
			if n := testing.AllocsPerRun(100, both); n != 0 {
				t.Errorf("%s %s: %g allocations", enc, name, n)
			}
		}
	}
}

// deflated is EXI with compression, of streams made here.
func deflated(streams ...[]byte) []byte {
	c := exiChannelPool.Get().(*exiChannels)
	defer exiChannelPool.Put(c)
	c.begin(nil)
	for _, s := range streams {
		c.stream(s)
	}
	return c.compressed.b
}

func TestHostileCompressedEXI(t *testing.T) {
	zeros := func(n int) []byte { return make([]byte, n) }
	echo := []byte{2, 0, 3, 'a'}
	many := append([]byte{10}, zeros(2*200)...)
	for _, x := range []struct {
		name service.Name
		b    []byte
		why  string
	}{
		{service.Echo, nil, "header"},
		{service.Echo, []byte{0x80}, "truncated"},
		{service.Echo, deflated(echo[:3]), "truncated"},
		{service.Echo, deflated(append(echo, 0)), "after the values"},
		{service.Echo, deflated(echo, nil), "after the message"},
		{service.Echo, append(deflated(echo), 0), "after the message"},
		{service.Echo, deflated(echo)[:6], "truncated"},
		{service.Echo, deflated([]byte{3, 0, 2}), "root"},
		{service.Echo, deflated([]byte{200, 0, 2}), "out of range"},
		{service.Echo, deflated([]byte{2, 1, 2}), "xsi:type"},
		{service.Echo, deflated([]byte{2, 2, 2}), "out of range"},
		{service.Echo, deflated([]byte{2, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}), "truncated"},
		{service.Echo, bytes.Repeat([]byte{0x80}, 100), "deflated"},
		{service.Sort, deflated(many), "out of range or truncated"},
		{service.Sort, deflated(append(many, 1)), "truncated"},
		{service.Sort, deflated(append(many, 1, 0), zeros(400)), "after the structure"},
		{service.Sort, deflated(append(many, 1), zeros(399)), "truncated"},
		{service.Sort, deflated(append(many, 1), zeros(401)), "after the values"},
		{service.Sort, deflated(append(many, 1), append([]byte{2}, zeros(399)...)), "neither"},
		{service.Concat, deflated(append([]byte{0}, 0, 0, 1, 0, 0)), "not in the table"},
	} {
		var m service.Message
		if err := Decode(EXISchemaCompressed, x.b, x.name, false, &m); err == nil || !strings.Contains(err.Error(), x.why) {
			t.Errorf("%s %.40x: got %v, want something of %q", x.name, x.b, err, x.why)
		}
	}
	// 100 kB that would be 100 MB, of structure and of text; a tenth in short.
	much := 100_000_000
	if testing.Short() {
		much /= 10
	}
	var m service.Message
	for _, b := range [][]byte{deflated(append([]byte{10}, zeros(much)...)),
		deflated(append([]byte{2, 0, 0xff, 0xff, 0xff, 0x2f}, bytes.Repeat([]byte("a"), much)...))} {
		if err := DecodeWithin(EXISchemaCompressed, b, service.Echo, false, &m, 1e6); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%d bytes: %v", len(b), err)
		}
	}
	if cap(m.Text) > 2e6 || cap(m.Ints) > 1e6 {
		t.Error("much was made")
	}
}
