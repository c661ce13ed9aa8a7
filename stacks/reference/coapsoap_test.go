package reference

import (
	"strings"
	"testing"

	"edgegauge.example/edgegauge/internal/protocol/coap"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

func TestFaultsOverCoAP(t *testing.T) {
	for _, x := range []struct {
		encoding codec.Encoding
		body     string
		code     coap.Code
		want     string
	}{
		{codec.SOAP11, "<a>", coap.BadRequest, "<faultcode>soap:Client</faultcode>"},
		{codec.SOAP12, "<a>", coap.BadRequest, "Sender</"},
		{codec.SOAP12, temperatureAsked, coap.InternalServerError, "Receiver</"}, // there is no sensor
	} {
		name := "echo"
		if x.body == temperatureAsked {
			name = "temperature"
		}
		w, err := newWorkers(stack.Serve{Service: name}, x.encoding)
		if err != nil {
			t.Fatal(err)
		}
		s := &coapServer{workers: w, path: name, format: coap.XML}
		var resp coap.Response
		s.handle(&coap.Request{Method: coap.POST, Path: []byte(name), Format: coap.XML, Body: []byte(x.body)}, &resp)
		if resp.Code != x.code || resp.Format != coap.XML || !strings.Contains(string(resp.Body), x.want) {
			t.Errorf("%s %q: got %v, format %v, %s; want %v and %s", x.encoding, x.body, resp.Code, resp.Format, resp.Body,
				x.code, x.want)
		}
	}
}

const temperatureAsked = `<e:Envelope xmlns:e="http://www.w3.org/2003/05/soap-envelope"><e:Body><temperature xmlns="urn:edgegauge:services:1"/></e:Body></e:Envelope>`
