package testbed

import (
	"fmt"
	"strings"
	"testing"
)

// Options that the program of a stack inside edgegauge refuses are refused before, where they stand.
func TestOptionsThatAStackRefuses(t *testing.T) {
	b := bed(t)
	for _, tt := range []struct{ study, want string }{
		{"stack: mqtt\noptions.qos: 7", `6:14: stack reference/mqtt: unknown qos "7"; supported: 0, 1, 2`},
		{"stack: mqtt\noptions.qos: 2", ""},
		{"stack: coap-json\noptions: {confirmable: maybe}", `unknown confirmable "maybe"; supported: on, off`},
		{"stack: coap-json\noptions: {confirmable: off, observe: off, connection_id: off}", ""},
		{"stack: coap-json\nfactors: {options.observe: [on, yes]}", `6:33: stack reference/coap-json: unknown observe ` +
			`"yes"; supported: on, off; exclude: [{options.observe: yes}]`},
		{"stack: coap-json\nsecurity: oscore\noptions: {observe: on}", "observe does not go with oscore over coap"},
		{"stack: coap-json\noptions.connection_id: on", "connection_id is for security dtls-psk"},
		{"stack: coap-json\nsecurity: dtls-psk\noptions.connection_id: on", ""},
		{"stack: coap-json\noptions.connection_id: on\nfactors: {security: [none, dtls-psk]}",
			"exclude: [{security: none}]"},
		{"stack: dpws\noptions: {search: best}", `unknown search "best"; supported: probe, resolve`},
		{"stack: dpws\noptions: {match_delay: 3}", `invalid match_delay "3"`},
		{"stack: phantom\noptions: {processing: soon}", `invalid processing "soon"; write it like 2ms`},
	} {
		p, err := b.Read(t.Context(), "s.yaml", []byte("study: s\nservice: monitor\nrequests: 5\ndesign: {replications: 1}\n"+
			tt.study+"\n"))
		if err != nil {
			t.Fatalf("%s: %v", tt.study, err)
		}
		found := b.Obstacles(t.Context(), p)
		if got := fmt.Sprint(found); (len(found) == 0) != (tt.want == "") || !strings.Contains(got, tt.want) ||
			len(found) > 1 {
			t.Errorf("%s: got %s, want %s", tt.study, got, tt.want)
		}
	}
}
