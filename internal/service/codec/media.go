package codec

import (
	"strings"

	"edgegauge.example/edgegauge/internal/service"
)

// MediaType is the Content-Type of a message, parameters included. Only the
// requests of SOAP 1.2 name the action in it.
func (e Encoding) MediaType(name service.Name, response bool) string {
	r := e.row()
	if r.Action == ActionOfMediaType && !response {
		return r.Media + `; action="` + Action(name) + `"`
	}
	return r.Media
}

// Action is the URI that names what a SOAP request asks for, without quotes.
func Action(name service.Name) string { return Namespace + "/" + string(name) }

// SOAPAction is the value of the HTTP header SOAPAction, quotes included; empty:
// the encoding has no such header.
func (e Encoding) SOAPAction(name service.Name) string {
	if r, ok := Find(e); ok && r.Action == ActionHeader {
		return `"` + Action(name) + `"`
	}
	return ""
}

// ContentFormat is the CoAP Content-Format (RFC 7252, section 12.3). What has
// none of its own goes as application/octet-stream, 42; SOAP, for which none is
// registered, as the application/xml that it is, 41.
func (e Encoding) ContentFormat() (number uint16, ok bool) {
	if r, ok := Find(e); ok {
		return r.Format, true
	}
	return 0, false
}

// Takes says whether a Content-Type names the encoding. Parameters do not
// count, but for a charset, which must be UTF-8.
func (e Encoding) Takes(contentType string) bool {
	kind, parameters, _ := strings.Cut(contentType, ";")
	want, _, _ := strings.Cut(e.row().Media, ";")
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
