package californium

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// SOAP over CoAP answers what it cannot do by a fault in the request's own
// encoding, with the code of CoAP that says whose it is.
func TestFaultsOverCoAP(t *testing.T) {
	d := built(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	srv := start(t, d, "serve")
	soap := func(space, header, body string) string {
		return `<e:Envelope xmlns:e="` + space + `">` + header + `<e:Body>` + body + `</e:Body></e:Envelope>`
	}
	const old, now = "http://schemas.xmlsoap.org/soap/envelope/", "http://www.w3.org/2003/05/soap-envelope"
	const ask = `<temperature xmlns="urn:edgegauge:services:1"/>`
	must := `<e:Header><a xmlns="urn:x" e:mustUnderstand="1"><b/></a></e:Header>`
	for _, x := range []struct {
		what string
		enc  codec.Encoding
		body string
		code coap.Code
		want codec.FaultCode
	}{
		{"no SOAP", codec.SOAP11, "<a/>", coap.BadRequest, codec.Sender},
		{"another message", codec.SOAP12, soap(now, "", "<a/>"), coap.BadRequest, codec.Sender},
		{"no sensor", codec.SOAP12, soap(now, "", ask), coap.InternalServerError, codec.Receiver},
		{"no sensor", codec.SOAP11, soap(old, "", ask), coap.InternalServerError, codec.Receiver},
		{"a header that must be understood", codec.SOAP12, soap(now, must, ask), coap.BadRequest, codec.MustUnderstand},
		{"the other version", codec.SOAP11, soap(now, "", ask), coap.BadRequest, codec.VersionMismatch},
		{"a header for nobody", codec.SOAP12, soap(now, strings.Replace(must, "1", "0", 1), ask), coap.InternalServerError,
			codec.Receiver},
		{"no EXI", codec.SOAP12EXISchema, "<a/>", coap.BadRequest, codec.Sender},
		{"cut EXI", codec.SOAP12EXISchema, "\x80", coap.BadRequest, codec.Sender},
	} {
		t.Run(string(x.enc)+" "+x.what, func(t *testing.T) {
			ready, err := srv.Serve(ctx, stack.Serve{Service: "temperature", Encoding: string(x.enc), Security: "none",
				Transport: "coap", Host: "127.0.0.1", Sensor: "hwmon:/nonexistent", Limits: stack.Limits{Body: 1 << 20}})
			if err != nil {
				t.Fatal(err)
			}
			u, err := url.Parse(ready.URL)
			if err != nil {
				t.Fatal(err)
			}
			client, err := coap.Dial(u.Host)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			number, _ := x.enc.ContentFormat()
			reply, err := client.Do(ctx, &coap.Call{Method: coap.POST, Path: u.Path, Format: coap.FormatOf(number),
				Body: []byte(x.body)})
			if err != nil {
				t.Fatal(err)
			}
			var m service.Message
			var fault *codec.Fault
			err = codec.Decode(x.enc, reply.Body, service.Temperature, true, &m)
			if !errors.As(err, &fault) || fault.Code != x.want || reply.Code != x.code || reply.Format != coap.FormatOf(number) {
				t.Errorf("got %v, format %v, %v; want %v with fault %s in format %d", reply.Code, reply.Format, err, x.code,
					x.want, number)
			}
		})
	}
}
