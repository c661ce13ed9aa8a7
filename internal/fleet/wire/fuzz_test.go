package wire

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// Whatever a bench sends as a result, and says of its files: nothing is written outside the folder
// given, nothing over a file, and what is taken is what the checksums say.
func FuzzDelivered(f *testing.F) {
	said := func(files ...fleet.File) string {
		text, err := json.Marshal(fleet.Bundle{Files: files})
		if err != nil {
			f.Fatal(err)
		}
		return string(text)
	}
	of := func(name, text string) fleet.File {
		sum := sha256.Sum256([]byte(text))
		return fleet.File{Name: name, Bytes: int64(len(text)), SHA256: hex.EncodeToString(sum[:])}
	}
	for _, seed := range []struct{ result, files string }{
		{said(of("exchanges/0001-1-client.parquet", "abc"), of("trials/0001/serve.log", "de")), "abcde"},
		{said(of("../up", "abc")), "abc"}, {said(of("/etc/x", "abc")), "abc"}, {said(of("a/../../b", "abc")), "abc"},
		{said(of("trials/0001/a", "abc"), of("trials/0001/a", "abc")), "abcabc"}, {said(of("trials/0001/a", "abc")), "abcd"},
		{said(of("trials/0001/"+strings.Repeat("a", 201), "abc")), "abc"},
		{said(of("trials/"+strings.Repeat("1", 300)+"/a", "abc")), "abc"},
		{`{"files":[{"name":"trials/0001/a","bytes":-1}]}`, ""}, {`{"files":[{"name":"trials/0001/a","bytes":9e18}]}`, "x"},
		{"null", ""}, {"{", "}"},
	} {
		f.Add(strconv.Itoa(len(seed.result)), []byte(seed.result+seed.files))
	}
	f.Fuzz(func(t *testing.T, length string, data []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		m := &nats.Msg{Subject: admit.ResultPrefix + "one", Reply: admit.Inbox("one") + ".1", Data: data,
			Header: nats.Header{enclosedHeader: {length}}}
		d, ok := (&Board{}).delivery("one", m)
		if !ok {
			return
		}
		r := d.Bundle
		if r.Bench != "one" {
			t.Fatalf("it speaks for bench %q", r.Bench)
		}
		_, files := apart(m)
		to := newUnpacker(dir)
		stored, err := to.enclosed(r, files)
		if err := to.sync(); err != nil {
			t.Fatal(err)
		}
		if err != nil && !errors.Is(err, fleet.ErrDamaged) {
			t.Fatalf("what a bench says ends the study: %v", err)
		}
		if entries, err := os.ReadDir(above); err != nil || len(entries) != 1 {
			t.Fatalf("written outside: %v, %v", entries, err)
		}
		if err != nil || files == nil {
			return
		}
		later := map[string]bool{}
		for _, p := range stored {
			for _, x := range p.files {
				later[x.Name] = true
			}
		}
		whole(t, dir, r, later)
	})
}

// Whatever arrives as a beat, an order, a hold, a question or a reply: a bench speaks for nobody else, in short ids,
// and of an order comes through what JSON says it is, or nothing.
func FuzzSaid(f *testing.F) {
	f.Add([]byte(`{"bench":"other","boot":"b","machine":"m","program":"v","run":"r","block":1,"attempt":2,"done":true}`))
	f.Add([]byte(`{"run":"r","block":1,"attempt":2,"boot":"b","study":"c3R1ZHk6IHM=","retries":-1}`))
	f.Add([]byte(`{"id":"i","place":"p","words":"\u001b[2J"}`))
	f.Add([]byte(`{"study":"c3R1ZHk6IHM=","overrides":["a=b"],"why":"\u001b[2J","lacks":{"-1":"x"},"busy":true}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		beat, ok := beatOf("one", &nats.Msg{Data: text})
		if beat.Bench != "one" || ok && (len(beat.Boot) > mostID || len(beat.Machine) > mostID) {
			t.Fatalf("%s became %+v", text, beat)
		}
		q, asked := questionOf(&nats.Msg{Data: text})
		r, replied := replyOf(&nats.Msg{Data: text})
		for _, x := range []any{q, r} { // what was understood can be said again
			if _, err := json.Marshal(x); err != nil && (asked || replied) {
				t.Fatalf("%s became %+v: %v", text, x, err)
			}
		}
		b := &Bench{orders: make(chan fleet.Order, 1), ctx: t.Context()}
		b.told(text)
		var want fleet.Order
		if err := json.Unmarshal(text, &want); (err == nil) != (len(b.orders) == 1) {
			t.Fatalf("%s: %d orders, though JSON says %v", text, len(b.orders), err)
		}
		if len(b.orders) == 1 {
			if got := <-b.orders; !reflect.DeepEqual(got, want) {
				t.Fatalf("%s became %+v", text, got)
			}
		}
	})
}

// whole holds what was written against what the result says.
func whole(t *testing.T, dir string, r fleet.Bundle, later map[string]bool) {
	t.Helper()
	written := 0
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			written++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for _, x := range r.Files {
		if later[x.Name] {
			continue
		}
		want++
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(x.Name)))
		sum := sha256.Sum256(text)
		if err != nil || int64(len(text)) != x.Bytes || !bytes.Equal([]byte(hex.EncodeToString(sum[:])), []byte(x.SHA256)) {
			t.Fatalf("%s: %d B, said to be %d: %v", x.Name, len(text), x.Bytes, err)
		}
	}
	if written != want {
		t.Fatalf("%d files were written, of %d", written, want)
	}
}
