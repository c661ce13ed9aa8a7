package report

import "testing"

func TestFloorIsThatOfTheSameTransport(t *testing.T) {
	r := &Report{Factors: []string{"stack", "ip"}}
	for _, x := range [][2]string{{"rest-json", "ipv4"}, {"coap-cbor", "ipv4"}, {"floor-tcp", "ipv4"},
		{"floor-udp", "ipv4"}, {"coap-cbor", "ipv6"}, {"floor-udp", "ipv6"}} {
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{x[0], x[1]}, Stack: x[0]})
	}
	r.Facts.Stacks = map[string]StackFacts{"reference/rest-json": {Transports: []string{"http"}},
		"reference/coap-cbor": {Transports: []string{"coap"}}}
	for i, want := range []int{2, 3, -1, -1, 5, -1} {
		if got := r.floorOf(i); got != want {
			t.Errorf("%s: got floor %d, want %d", r.Treatments[i].Name(), got, want)
		}
	}
}

// Results say which stacks are floors; only of older ones a name must tell.
func TestFloorIsWhatTheResultsSay(t *testing.T) {
	yes, no := true, false
	r := &Report{Factors: []string{"stack"}}
	for _, name := range []string{"bare", "floor-heating-tcp", "old/floor-tcp", "rest-json"} {
		r.Treatments = append(r.Treatments, Treatment{Levels: []string{name}, Stack: name})
	}
	r.Facts.Stacks = map[string]StackFacts{"bare": {Floor: &yes, Transports: []string{"tcp"}},
		"floor-heating-tcp": {Floor: &no}, "old/floor-tcp": {}, "rest-json": {Floor: &no, Transports: []string{"http"}}}
	for i, want := range []bool{true, false, true, false} {
		if name := r.Treatments[i].Stack; r.isFloor(name) != want {
			t.Errorf("%s: floor %v, want %v", name, !want, want)
		}
	}
	if got := r.floorOf(3); got != 0 {
		t.Errorf("rest-json: got floor %d, want bare", got)
	}
}
