package reference

import (
	"testing"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// A caller runs with the garbage collector off: what it allocates stays, for
// every request of the run.
func TestCallerAllocatesNothing(t *testing.T) {
	for _, name := range []service.Name{service.Monitor, service.Sort, service.Echo} {
		for _, enc := range codec.Encodings() {
			c := &caller{name: name, encoding: enc, limit: 1 << 20}
			service.Make(name, 1, 16, service.Width{}, &c.request)
			var err error
			if c.check, err = service.NewChecker(name, &c.request); err != nil {
				t.Fatal(err)
			}
			var answer service.Message
			if err := service.Answer(name, &c.request, &answer, service.Env{}); err != nil {
				t.Fatal(err)
			}
			reply := codec.Append(enc, nil, name, true, &answer)
			var buf []byte
			exchange := func() {
				buf, err = c.Encode(1, buf[:0])
				if err == nil {
					err = c.Decode(1, 200, reply)
				}
				if err == nil {
					err = c.Check(1)
				}
			}
			exchange()
			most := 0.0
			if enc == codec.EXISchemaCompressed || enc == codec.SOAP12EXISchemaCompressed {
				most = 20 // compress/flate makes the tables of each of its blocks anew
			}
			if raceDetector {
				most += 2
			}
			if n := testing.AllocsPerRun(100, exchange); n > most || err != nil {
				t.Errorf("%s, %s: %g allocations an exchange, %v", name, enc, n, err)
			}
		}
	}
}
