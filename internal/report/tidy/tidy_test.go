package tidy

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/stat"
)

var columns = Columns{Response: "y", Factors: []string{"a", "b"}, Block: "rep"}

func TestFaultsHaveAPlaceAndAdvice(t *testing.T) {
	for _, tt := range []struct{ what, text, want string }{
		{"empty", "", "f.csv: it is empty; the first line names the columns"},
		{"header only", "a,b,rep,y\n", "f.csv: it has a header and no rows"},
		{"no such column", "a,b,rep,z\n", `f.csv:1: no column "y" (--response); there are a, b, rep, z`},
		{"no block column", "a,b,y\n", `f.csv:1: no column "rep" (--block)`},
		{"twice", "a,a,rep,y\n", `f.csv:1: two columns are called "a"`},
		{"semicolons", "a;b;rep;y\n1;2;3;4\n", "f.csv:1: the columns are not separated by commas; write --separator ';'"},
		{"ragged", "a,b,rep,y\nx,y,1,2\nx,y,1\n", "f.csv:3: its number of columns differs"},
		{"a number of Go alone", "a,b,rep,y\nx,y,1,2\nx,y,1,1_0\n", `f.csv:3: y is "1_0", which is not a number`},
		{"a hexadecimal number", "a,b,rep,y\nx,y,1,2\nx,y,1,0x1p4\n", `f.csv:3: y is "0x1p4", which is not a number`},
		{"not a number", "a,b,rep,y\nx,y,1,2\nx,y,1,3ms\n", `f.csv:3: y is "3ms", which is not a number`},
		{"UTF-16", "\xff\xfea\x00,\x00y\x00\n\x00", "f.csv: it is in UTF-16; convert it with iconv -f utf-16 -t utf-8 f.csv"},
		{"UTF-16 of the other order", "\xfe\xff\x00a\x00,\x00y\x00\n", "f.csv: it is in UTF-16"},
		{"lines that end in CR alone", "a,b,rep,y\rx,y,1,2\rx,y,2,3\r",
			`f.csv:1: its lines end in CR alone; convert them with tr '\r' '\n' < f.csv`},
		{"a comma between thousands, or a decimal one", "a,b,rep,y\nx,y,1,\"1,105\"\n",
			`f.csv:2: y is "1,105"; write a decimal point, or leave the comma out if it separates thousands`},
		{"decimal comma", "a,b,rep,y\nx,y,1,\"2,5\"\n", `f.csv:2: y is "2,5"; write a decimal point`},
		{"NaN", "a,b,rep,y\nx,y,1,NaN\n", `f.csv:2: y is "NaN", which has no mean`},
		{"too large", "a,b,rep,y\nx,y,1,1e999\n", `f.csv:2: y is "1e999", which has no mean`},
		{"missing value", "a,b,rep,y\nx,y,1,\n", "f.csv:2: y is empty; a missing value is not zero"},
		{"missing level", "a,b,rep,y\nx,,1,2\n", `f.csv:2: factor "b" is empty`},
		{"missing block", "a,b,rep,y\nx,y,,2\n", `f.csv:2: block "rep" is empty`},
		{"bare quote", "a,b,rep,y\nx,y\"y,1,2\n", "f.csv:2: bare"},
		{"open quote", "a,b,rep,y\nx,\"y,1,2\nx,y,1,2\n", "f.csv:3: extraneous or missing"},
		{"a quote that swallows the file", "a,b,rep,y\nx,\"y" + strings.Repeat("x,y,1,2\n", 1<<18),
			"f.csv: a row of more than 1048576 B"},
		{"faults on two lines, blank and quoted lines counted", "a,b,rep,y\n\n\"x\n\",y,1,p\nx,y,1,q\n",
			`f.csv:3: y is "p", which is not a number; remove units and thousands separators` + "\n" +
				`f.csv:5: y is "q"`},
		{"overflow", "a,b,rep,y\nx,y,1,1e308\nx,y,1,1.5e308\n",
			"f.csv: the mean of treatment x y in block 1 is too large to represent"},
		{"Latin-1", "a,b,rep,y\nx,y,1,2\n\xe4,y,1,2\n\xf6,y,1,2\n",
			`f.csv:3: factor "a": byte 0xe4 is not UTF-8; convert the table, if it is in Latin-1 with iconv -f latin1 ` +
				"-t utf-8 f.csv\n" + `f.csv:4: factor "a": byte 0xf6 is not UTF-8`},
		{"Latin-1 of a block", "a,b,rep,y\nx,y,\xe4,2\n", `f.csv:2: block "rep": byte 0xe4 is not UTF-8`},
		{"Latin-1 of a name", "a,b,rep,y,\xe4\nx,y,1,2,3\n", `f.csv:1: column 5: byte 0xe4 is not UTF-8`},
		{"many", "a,b,rep,y\n" + strings.Repeat("x,y,1,bad\n", 50), "there may be more"},
	} {
		_, err := Read(strings.NewReader(tt.text), "f.csv", columns)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		}
		if err != nil && strings.Count(err.Error(), "\n") > maxErrors {
			t.Errorf("%s: %d lines", tt.what, strings.Count(err.Error(), "\n"))
		}
	}
	same := Columns{Response: "y", Factors: []string{"y"}}
	if _, err := Read(strings.NewReader("a,y\n1,2\n"), "f.csv", same); err == nil ||
		!strings.Contains(err.Error(), "at once") {
		t.Errorf("the response as a factor: got %v", err)
	}
}

// TestUTF8IsRead: also the sign that stands for what could not be read, and what is in no column that matters.
func TestUTF8IsRead(t *testing.T) {
	got, err := Read(strings.NewReader("a,b,rep,y,note\n\ufffd,ä,ß,2,\xe4\n"), "f.csv", columns)
	if err != nil || len(got.Rows) != 1 || got.Rows[0].Levels[0] != "\ufffd" || got.Rows[0].Block != "ß" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestManyLevelsAreNoFactor(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,y\n")
	for i := range MaxTreatments + 1 {
		fmt.Fprintf(&b, "%d,1\n", i)
	}
	_, err := Read(strings.NewReader(b.String()), "f.csv", Columns{Response: "y", Factors: []string{"a"}})
	if err == nil || !strings.Contains(err.Error(), "f.csv:10002: more than 10000 treatments") {
		t.Errorf("got %v", err)
	}
}

func TestReadsWhatSpreadsheetsWrite(t *testing.T) {
	text := "\ufeffa;b;rep; y\r\nx;p;1;1.5\r\n\"x\";p;1;2.5\r\nz;p;2;-3e2\r\n"
	c := columns
	c.Separator = ';'
	got, err := Read(strings.NewReader(text), "f.csv", c)
	if err != nil {
		t.Fatal(err)
	}
	want := []stat.Row{{Levels: []string{"x", "p"}, Block: "1", Y: 2}, {Levels: []string{"z", "p"}, Block: "2", Y: -300}}
	if fmt.Sprint(got.Rows) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got.Rows, want)
	}
}

// Averaging while reading must give what stat gives of all rows.
func TestAveragesAsStatDoes(t *testing.T) {
	var b strings.Builder
	b.WriteString("a,b,rep,y\n")
	full := stat.Table{Response: "y", Factors: []string{"a", "b"}}
	for i := range 3000 {
		a, bb, rep, y := string(rune('p'+i%3)), string(rune('x'+i/3%2)), fmt.Sprint(i%7), math.Sqrt(float64(i))+1e6
		fmt.Fprintf(&b, "%s,%s,%s,%v\n", a, bb, rep, y)
		full.Rows = append(full.Rows, stat.Row{Levels: []string{a, bb}, Block: rep, Y: y})
	}
	got, err := Read(strings.NewReader(b.String()), "f.csv", columns)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 42 {
		t.Fatalf("got %d rows, want 42", len(got.Rows))
	}
	want, err1 := stat.Analyze(full, stat.AnovaOptions{})
	have, err2 := stat.Analyze(got, stat.AnovaOptions{})
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	for i := range want.Groups {
		if g, w := float64(have.Groups[i].Mean), float64(want.Groups[i].Mean); math.Abs(g/w-1) > 1e-14 {
			t.Errorf("group %d: got %v, want %v", i, g, w)
		}
	}
}

// lines makes a table of any length without holding it.
type lines struct {
	n    int
	rest string
}

func (l *lines) Read(p []byte) (int, error) {
	if l.rest == "" {
		if l.n == 0 {
			return 0, io.EOF
		}
		l.n--
		l.rest = fmt.Sprintf("x%d,p,%d,%d.5\n", l.n%4, l.n%10, l.n%1000)
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

func TestMemoryDoesNotGrowWithRows(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	tab, err := Read(io.MultiReader(strings.NewReader("a,b,rep,y\n"), &lines{n: 400_000}), "f.csv", columns)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1<<20 {
		t.Errorf("400,000 rows keep %d B", grown)
	}
	if len(tab.Rows) != 20 {
		t.Errorf("got %d rows, want 20 (4 treatments in 5 blocks each)", len(tab.Rows))
	}
}

func FuzzRead(f *testing.F) {
	f.Add("a,b,rep,y\nx,y,1,2\n")
	f.Add("a;b\n\"")
	f.Add("\ufeffy,a,b,rep\n1e308,x,y,1\n1e308,x,y,1\n")
	f.Fuzz(func(t *testing.T, text string) {
		tab, err := Read(strings.NewReader(text), "f", columns)
		if err == nil && len(tab.Rows) == 0 {
			t.Error("no rows and no error")
		}
	})
}
