package report

import (
	"encoding/json"
	"testing"
)

// What is read as a confirmation means the same when it is written again.
func FuzzReadConfirms(f *testing.F) {
	f.Add([]byte(`{"format":1,"old":"2026-11-01T10:00:00.5Z","new":"2026-11-02T10:00:00Z","old_dir":"a","new_dir":"b",` +
		`"responses":["client.rtt"],"detect":0.05}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := ReadConfirms(text)
		if err != nil {
			return
		}
		again, err := json.Marshal(c)
		if err != nil {
			return // a time beyond what JSON can say
		}
		d, err := ReadConfirms(again)
		if err != nil || !d.Old.Equal(c.Old) || !d.New.Equal(c.New) || len(d.Responses) != len(c.Responses) ||
			d.Detect != c.Detect {
			t.Errorf("%s became %s: %v", text, again, err)
		}
	})
}
