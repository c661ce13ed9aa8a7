package packet

import (
	"bytes"
	"io"
	"testing"
)

// FuzzAnalyze: no input makes it panic, and no figure that stands is absurd.
func FuzzAnalyze(f *testing.F) {
	for _, n := range nasty {
		s := newScript(f)
		n.build(s)
		f.Add(s.file())
		if len(s.pkts) < 20 {
			f.Add(s.classic(true, false))
		}
	}
	s := newScript(f)
	s.coap(cliAddr, coapAddr, con, 1, 7, "tk")
	s.coap(coapAddr, cliAddr, ack, 0, 7, "")
	s.coap(coapAddr, cliAddr, con, 0x45, 9, "tk")
	s.coap(cliAddr, coapAddr, ack, 0, 9, "")
	s.udp(cliAddr, coapAddr, []byte{22, 0xfe, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, 0, 0})
	f.Add(s.file())
	f.Add(s.classic(false, true))
	s = newScript(f)
	c, v := s.open(cliAddr, srvAddr)
	c.send(ackFlag, "\x16\x03\x01\x00\x06\x01\x00\x00\x02\x03\x03")
	v.send(ackFlag, "\x16\x03\x03\x00\x32\x02\x00\x00\x2e\x03\x03"+string(make([]byte, 33))+
		"\x13\x01\x00\x00\x06\x00\x2b\x00\x02\x03\x04")
	c.send(ackFlag, "\x17\x03\x03\x00\x35"+string(make([]byte, 53)))
	call(c, v)
	hangUp(c, v)
	if x := s.analyze(Options{}).Connections[0]; x.Security != "TLS 1.3" || x.NoHandshake != "" {
		f.Fatalf("the seed is no TLS: %+v", x)
	}
	f.Add(s.file())
	f.Fuzz(func(t *testing.T, file []byte) {
		c, err := Analyze(bytes.NewReader(file))
		if err != nil && len(c.Problems) == 0 {
			t.Error("an error without a problem")
		}
		var packets, wire int64
		for i := range c.Connections {
			x := &c.Connections[i]
			packets, wire = packets+x.Packets(), wire+x.WireBytes()
			plausible(t, &x.Call, c)
			for j := range x.Requests {
				plausible(t, &x.Requests[j], c)
			}
		}
		for i := range c.Exchanges {
			packets, wire = packets+c.Exchanges[i].Packets(), wire+c.Exchanges[i].WireBytes()
			plausible(t, &c.Exchanges[i].Call, c)
		}
		if packets > c.Packets || wire > c.Bytes {
			t.Errorf("calls have %d packets and %d B, the capture %d and %d", packets, wire, c.Packets, c.Bytes)
		}
		if err := c.WriteJSON(io.Discard); err != nil {
			t.Error(err)
		}
		c.WriteText(io.Discard)
	})
}

func plausible(t *testing.T, x *Call, c Capture) {
	span := c.Last - c.First + 1
	if len(c.Problems) > 0 && (x.NoDelay == "" || x.NoData == "" || x.NoBytes == "" || x.NoHandshake == "") {
		t.Errorf("figures of a capture with problems: %+v", x)
	}
	if x.NoDelay == "" && (x.Delay < 0 || x.Delay > span) || x.NoData == "" &&
		(x.DelayToData < 0 || x.DelayToData > span) {
		t.Errorf("delays outside the capture: %+v", x)
	}
	if x.NoHandshake == "" && (x.HandshakeTime < 0 || x.HandshakeTime > span || x.HandshakeBytes < 0) {
		t.Errorf("an absurd handshake: %+v", x)
	}
	if x.NoBytes == "" && (x.Out.Payload > x.Out.Bytes || x.In.Payload > x.In.Bytes || x.Retransmissions > x.Packets()) {
		t.Errorf("more payload than bytes: %+v", x)
	}
}
