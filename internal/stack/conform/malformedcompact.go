package conform

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/stacks/contract"
)

// What the golden files of the contract are made from.
const compactSeed, compactN = 7, 2

// compactMessage is a request in a compact form of XML: made here with gzip, a
// golden file of the contract in the others. ok is false if there is none.
func compactMessage(enc codec.Encoding, name service.Name) (b []byte, text string, ok bool) {
	var m service.Message
	service.Make(name, compactSeed, compactN, service.Width{}, &m)
	if enc.Gzipped() {
		return zipped(codec.Append(enc.Base(), nil, name, false, &m)), "", true
	}
	b, err := contract.Compact.ReadFile(fmt.Sprintf("compact/%s-%d-%d.request.%s", name, compactN, compactSeed, enc))
	if text = string(m.Text); name == service.Monitor {
		text = string(m.Record.ID)
	}
	return b, text, err == nil && len(text) > 0
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// compactBads are the bad requests of a compact form besides those of every
// encoding. text is a string that good says.
func compactBads(enc codec.Encoding, good []byte, text string) []badRequest {
	all := badRequests(enc, good)
	if enc.Gzipped() {
		r, _ := gzip.NewReader(bytes.NewReader(good))
		plain, _ := io.ReadAll(r)
		for _, b := range badRequests(enc.Base(), plain) {
			if b.contentType == "" {
				all = append(all, badRequest{what: b.what + ", packed", body: zipped(b.body)})
			}
		}
		spaces := bytes.Repeat([]byte{' '}, 2*bodyLimit)
		return append(all, badRequest{what: "a message larger than the limit when unpacked", body: zipped(append(spaces,
			plain...))})
	}
	all = append(all, badRequest{what: "data after the document", body: append(slices.Clone(good), 0, 0)})
	for cut := range 8 {
		if n := len(good) * (cut + 1) / 9; n > 0 {
			all = append(all, badRequest{what: fmt.Sprintf("a message truncated to %d of %d bytes", n, len(good)),
				body: good[:n]})
		}
	}
	row, _ := codec.Find(enc)
	switch {
	case row.Syntax == codec.Infoset1:
		return append(all, infosetBads(good, text)...)
	case row.Compressed:
		return append(all, compressedBads(good, text)...)
	}
	all = append(all, badRequest{what: "a text of 2 GB claimed", body: claim(good, text)})
	if !row.Schema {
		all = append(all, badRequest{what: "elements nested 100,000 deep", body: nested()})
	}
	return all
}

// huge is 2^31-1 as an EXI Unsigned Integer.
var huge = []byte{0xff, 0xff, 0xff, 0xff, 0x07}

// endless is an EXI Unsigned Integer of 10,000 octets.
var endless = bytes.Repeat([]byte{0xff}, 10_000)

// claim puts another length before text in bit-packed EXI, at whatever bit it
// stands: its length and two (EXI 1.0, section 7.3.3), an octet here.
func claim(good []byte, text string) []byte {
	in := bitsOf(good)
	at := strings.Index(in, bitsOf(append([]byte{byte(len(text) + 2)}, text...)))
	return packed(in[:max(at, 0)] + bitsOf(huge) + in[max(at, 0)+8:])
}

// nested is schemaless EXI whose one element stands in itself 100,000 times:
// once it is learned, its start is one bit.
func nested() []byte {
	start := "00" + bitsOf([]byte("\x01x\x02a")) + // another URI, x; another local name, a
		"10" + "100" + bitsOf([]byte{0}) // an element inside: the URI of index 3, the one name it has
	return packed(bitsOf([]byte{0x80}) + start + strings.Repeat("0", 100_000))
}

func bitsOf(b []byte) string {
	var s strings.Builder
	for _, x := range b {
		fmt.Fprintf(&s, "%08b", x)
	}
	return s.String()
}

func packed(bits string) []byte {
	b := make([]byte, (len(bits)+7)/8)
	for i, x := range bits {
		if x == '1' {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return b
}

// compressedBads are of EXI with compression, whose one stream of DEFLATE has
// structure and values in octets.
func compressedBads(good []byte, text string) []badRequest {
	plain, _ := io.ReadAll(flate.NewReader(bytes.NewReader(good[1:])))
	at := max(0, bytes.Index(plain, append([]byte{byte(len(text) + 2)}, text...)))
	with := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	return []badRequest{
		{what: "a text of 2 GB claimed", body: deflated(with(plain[:at], huge, plain[at+1:]))},
		{what: "a length without end", body: deflated(with(plain[:at], endless, plain[at+1:]))},
		{what: "a text larger than the limit when unpacked",
			body: deflated(with(plain[:at], binary.AppendUvarint(nil, 2*bodyLimit), make([]byte, 2*bodyLimit)))},
		{what: "values followed by 100 MB", body: deflated(with(plain, make([]byte, 100<<20)))},
	}
}

func deflated(b []byte) []byte {
	out := bytes.NewBuffer([]byte{0x80})
	w, _ := flate.NewWriter(out, flate.BestSpeed)
	w.Write(b)
	w.Close()
	return out.Bytes()
}

// infosetBads are of Fast Infoset (X.891, C.3 and C.15): elements and
// characters begin at octets.
func infosetBads(good []byte, text string) []badRequest {
	at := bytes.Index(good, []byte(text))
	chunk := good[:at-1] // a length to 2 is in the chunk's first octet, to 258 one more
	if len(text) > 2 {
		chunk = good[:at-2]
	}
	claimed := slices.Concat(chunk, []byte{0x93, 0x7f, 0, 0, 0}, []byte(text))
	return []badRequest{
		{what: "a text of 2 GB claimed", body: claimed},
		// the first element's name again
		{what: "elements nested 100,000 deep", body: slices.Concat(chunk, make([]byte, 100_000))},
	}
}
