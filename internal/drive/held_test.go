package drive

import (
	"testing"
	"time"
)

// Answers that stand still between header and body as long as a delayed acknowledgement takes are counted; those that
// are late as a whole, or come in many parts, are not, nor is the time between two answers.
func TestAnswersThatStandStill(t *testing.T) {
	const ms = time.Millisecond
	const head, body = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n", "0123456789"
	type part struct {
		at   time.Duration
		text string
	}
	tenParts := []part{{ms, head}}
	for i := range 10 {
		tenParts = append(tenParts, part{time.Duration(i+1) * 48 * ms / 10, body[i : i+1]})
	}
	for _, tt := range []struct {
		name  string
		parts []part
		held  int // of two answers
	}{
		{"header, then body", []part{{ms, head}, {42 * ms, body}}, 2},
		{"stands still in the body", []part{{ms, head + body[:5]}, {42 * ms, body[5:]}}, 2},
		{"late as a whole", []part{{42 * ms, head + body}}, 0},
		{"late, and then two parts", []part{{42 * ms, head}, {43 * ms, body}}, 0},
		{"in ten parts", tenParts, 0},
		{"stands still for longer", []part{{ms, head}, {100 * ms, body}}, 0},
		{"quick", []part{{ms, head + body}}, 0},
	} {
		w := newHTTPConn(Spec{Method: "GET", MostBody: 100}, "h", "/")
		r, l := &run{quality: &DriverStats{}}, &lane{conn: w}
		for answer := range time.Duration(2) {
			buf := make([]byte, w.headroom())
			if err := w.start(buf, 0); err != nil {
				t.Fatal(err)
			}
			whole := false
			for _, x := range tt.parts {
				var err error
				if whole, err = w.got(copy(w.space(), x.text), answer*40*ms+x.at); err != nil {
					t.Fatal(err)
				}
			}
			if !whole || !r.reusable(l) {
				t.Errorf("%s: the answer is not whole", tt.name)
			}
		}
		if r.quality.Held != tt.held {
			t.Errorf("%s: %d answers stood still, want %d", tt.name, r.quality.Held, tt.held)
		}
	}
}
