package study

import (
	"strings"
	"testing"
	"time"
)

// Where time is counted, a stack on a JVM has long enough to start, unless the study says how long.
func TestCountedJavaHasTimeToStart(t *testing.T) {
	v := Vocabulary{Devices: []string{"local", "pi"}, Emulated: []string{"pi"},
		Stacks: func(name string) (StackFacts, bool) { return StackFacts{Name: name, Java: name == "jersey"}, true }}
	const counted = "time: instructions\nclient: {device: pi}\nserver: {device: pi}\n"
	for _, tt := range []struct {
		text string
		want time.Duration
	}{
		{"stack: jersey\n" + counted, 5 * time.Minute},
		{"factors: {stack: [native, jersey]}\n" + counted, 5 * time.Minute},
		{"stack: jersey\ntimeouts: {request: 1m}\n" + counted, 5 * time.Minute},
		{"stack: jersey\ntimeouts: {ready: 20s}\n" + counted, 20 * time.Second},
		{"stack: native\n" + counted, 10 * time.Second},
		{"stack: jersey\n", 10 * time.Second},
	} {
		s, err := Parse("f", []byte("study: x\nservice: monitor\n"+tt.text), v)
		if err != nil || s.Timeouts.Ready != tt.want {
			t.Errorf("%q: %v to be ready, %v; want %v", tt.text, s.Timeouts.Ready, err, tt.want)
		}
	}
}

func TestTimeInInstructions(t *testing.T) {
	v := Vocabulary{Devices: []string{"local", "pi", "a53"}, Emulated: []string{"pi", "a53"}, Links: []string{"wifi"}}
	const head = "study: x\nservice: monitor\nstack: s\n"
	for _, tt := range []struct{ what, text, want string }{
		{"one machine", "time: instructions\nclient: {device: pi}\nserver: {device: pi}\n", ""},
		{"clocks anywhere", "client: {device: pi}\nlink: wifi\n", ""},
		{"no machine", "time: instructions\n", "device local cannot count instructions"},
		{"two machines", "time: instructions\nclient: {device: pi}\nserver: {device: a53}\n",
			"name the same emulated device"},
		{"machines that vary with each other",
			"time: instructions\nfactors: {board: [{client.device: pi, server.device: pi}, {client.device: a53, " +
				"server.device: a53}]}\n", ""},
		{"server outside", "time: instructions\nclient: {device: pi}\n", "device local cannot count instructions"},
		{"a link", "time: instructions\nclient: {device: pi}\nserver: {device: pi}\nlink: wifi\n", "remove the link"},
		{"a meter", "time: instructions\nclient: {device: pi, meter: 'model:pi'}\nserver: {device: pi}\n",
			"a meter cannot measure"},
		{"packets", "time: instructions\nclient: {device: pi}\nserver: {device: pi}\npackets: keep\n",
			"not available with time: instructions"},
		{"wire bytes", "time: instructions\nclient: {device: pi}\nserver: {device: pi}\nresponses: [rtt, wire_bytes]\n",
			"response wire_bytes"},
		{"another word", "time: cycles\n", "clock"},
	} {
		s, err := Parse("x.yaml", []byte(head+tt.text), v)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: got %v, want no error", tt.what, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v, want %q", tt.what, err, tt.want)
		case err == nil && strings.Contains(tt.text, "time:") != (s.Time == Instructions):
			t.Errorf("%s: time is %s", tt.what, s.Time)
		}
	}
}
