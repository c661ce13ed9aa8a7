package study

import (
	"strings"
	"testing"
)

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
