package meant

import "testing"

func TestAdvice(t *testing.T) {
	stacks := []string{"reference/coap-cbor", "reference/mqtt-json", "reference/mqtt5", "reference/rest-json"}
	for _, tt := range []struct {
		word  string
		known []string
		want  string
	}{
		{"rest-json", stacks, "did you mean reference/rest-json?"},
		{"rest-jsn", stacks, "did you mean reference/rest-json?"},
		{"coap", append([]string{"jcoap"}, stacks...), "did you mean reference/coap-cbor?"},
		{"mqtt", stacks, "did you mean reference/mqtt-json?"},
		{"COAP-CBOR", stacks, "did you mean reference/coap-cbor?"},
		{"json", stacks, "did you mean reference/mqtt-json or reference/rest-json?"},
		{"mqtt5-cbor", stacks, "did you mean reference/mqtt5?"},
		{"mqtt-json", []string{"reference/rest-json", "reference/mqtt"}, "did you mean reference/mqtt?"},
		{"mqtt-jsn", []string{"mqtt-json", "mqtt"}, "did you mean mqtt-json?"},
		{"output", []string{"out", "set"}, "did you mean out?"},
		{"nbiot", []string{"lte-m", "nb-iot"}, "did you mean nb-iot?"},
		{"2xAAA", []string{"2xAA", "CR2032", "D"}, "did you mean 2xAA?"},
		{"zzz", []string{"a", "b"}, "write one of a, b"},
		{"zzz", []string{"a"}, "write a"},
		{"zzz", nil, "remove it"},
		{"zzz", make([]string, 11), "see the list"},
	} {
		if got := Advice(tt.word, tt.known, "see the list"); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.word, got, tt.want)
		}
	}
}
