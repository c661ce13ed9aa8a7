package codec

import (
	"bytes"
	"testing"

	"edgegauge.example/edgegauge/internal/service"
)

// env is a world without disk and sensor: the reading is the golden one.
var env = service.Env{
	Keep:   func(data, back []byte) ([]byte, error) { return append(back, data...), nil },
	Sensor: func() (int64, int64, error) { return 2150, 1700000000000, nil },
}

// exchange makes a request and its answer.
func exchange(t testing.TB, name service.Name, seed uint64, n int, w service.Width) (req, resp *service.Message) {
	t.Helper()
	req, resp = new(service.Message), new(service.Message)
	service.Make(name, seed, n, w, req)
	if err := service.Answer(name, req, resp, env); err != nil {
		t.Fatal(err)
	}
	return req, resp
}

func side(response bool, req, resp *service.Message) *service.Message {
	if response {
		return resp
	}
	return req
}

// What is written can be read, is the same again, and answers the request.
func TestRoundTrip(t *testing.T) {
	for _, enc := range Encodings() {
		for _, name := range service.Names() {
			for _, n := range []int{0, 1, 2, 23, 1023} {
				req, resp := exchange(t, name, 7, n, service.Width{})
				var got [2]service.Message
				for i, response := range []bool{false, true} {
					want := Append(enc, nil, name, response, side(response, req, resp))
					if err := Decode(enc, want, name, response, &got[i]); err != nil {
						t.Fatalf("%s %s-%d response=%v: %v in %q", enc, name, n, response, err, want)
					}
					if b := Append(enc, nil, name, response, &got[i]); !bytes.Equal(b, want) {
						t.Errorf("%s %s-%d response=%v: got %q, want %q", enc, name, n, response, b, want)
					}
				}
				if err := service.Check(name, &got[0], &got[1]); err != nil {
					t.Errorf("%s %s-%d: %v", enc, name, n, err)
				}
			}
		}
	}
}
