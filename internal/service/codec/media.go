package codec

import (
	"strings"

	"edgegauge/internal/service"
)

// MediaType is the Content-Type of a message, parameters included. Only the
// requests of SOAP 1.2 name the action in it.
func (e Encoding) MediaType(name service.Name, response bool) string {
	switch e {
	case XML:
		return "application/xml"
	case JSON:
		return "application/json"
	case CBOR:
		return "application/cbor"
	case MsgPack:
		return "application/vnd.msgpack"
	case Protobuf:
		return "application/x-protobuf"
	case SOAP11:
		return "text/xml; charset=utf-8"
	case SOAP12:
		if response {
			return "application/soap+xml; charset=utf-8"
		}
		return shapeOf(name, false).soap12
	case Text:
		return "application/octet-stream"
	}
	if media, ok := compactMedia(e, name, response); ok {
		return media
	}
	panic("codec: no encoding " + string(e))
}

// Action is the value of SOAP 1.1's SOAPAction header, without its quotes.
func Action(name service.Name) string { return Namespace + "/" + string(name) }

// ContentFormat is the CoAP Content-Format (RFC 7252, section 12.3). What has
// none of its own goes as application/octet-stream, 42; SOAP, for which none is
// registered, as the application/xml that it is, 41.
func (e Encoding) ContentFormat() (number uint16, ok bool) {
	switch e {
	case XML, SOAP11, SOAP12:
		return 41, true
	case JSON:
		return 50, true
	case CBOR:
		return 60, true
	case MsgPack, Protobuf, Text:
		return 42, true
	}
	if e.isEXI() {
		return 47, true
	}
	if _, ok := compactMedia(e, service.Echo, false); ok {
		return 42, true
	}
	return 0, false
}

// Takes says whether a Content-Type names the encoding. Parameters do not
// count, but for a charset, which must be UTF-8.
func (e Encoding) Takes(contentType string) bool {
	kind, parameters, _ := strings.Cut(contentType, ";")
	want, _, _ := strings.Cut(e.MediaType(service.Echo, true), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), want) {
		return false
	}
	for parameters != "" {
		var p string
		p, parameters, _ = strings.Cut(parameters, ";")
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "charset") {
			charset := strings.Trim(strings.TrimSpace(value), `"`)
			return strings.EqualFold(charset, "utf-8") || strings.EqualFold(charset, "us-ascii")
		}
	}
	return true
}
