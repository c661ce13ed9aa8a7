package dpws

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A Target is what discovery says of a device.
type Target struct {
	EPR             string // its endpoint reference's address, urn:uuid:…
	Types           []QName
	Scopes          []string
	XAddrs          []string // where it can be reached now
	MetadataVersion uint32
}

// prefixes of types are numbered: a document has few of them.
func (t *Target) appendTo(dst []byte) []byte {
	dst = append(dst, "<wsa:EndpointReference>"...)
	dst = append(element(dst, "wsa:Address", []byte(t.EPR)), "</wsa:EndpointReference>"...)
	dst = appendTypes(dst, "wsd", t.Types)
	dst = element(dst, "wsd:Scopes", []byte(strings.Join(t.Scopes, " ")))
	dst = element(dst, "wsd:XAddrs", []byte(strings.Join(t.XAddrs, " ")))
	return element(dst, "wsd:MetadataVersion", strconv.AppendUint(nil, uint64(t.MetadataVersion), 10))
}

// appendTypes declares the namespaces of types on the element itself.
func appendTypes(dst []byte, prefix string, types []QName) []byte {
	if len(types) == 0 {
		return dst
	}
	dst = append(append(append(dst, '<'), prefix...), ":Types"...)
	for i, q := range types {
		if q.Space == "" { // a prefix stands for a namespace
			continue
		}
		dst = append(strconv.AppendInt(append(dst, " xmlns:t"...), int64(i), 10), `="`...)
		dst = append(xmlstream.AppendValue(dst, []byte(q.Space)), '"')
	}
	dst = append(dst, '>')
	for i, q := range types {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if q.Space != "" {
			dst = append(strconv.AppendInt(append(dst, 't'), int64(i), 10), ':')
		}
		dst = xmlstream.AppendText(dst, []byte(q.Local))
	}
	return append(append(append(dst, '<', '/'), prefix...), ":Types>"...)
}

// field reads the child n of an element that describes a target.
func (t *Target) field(r *reader, n xmlstream.Name) {
	switch {
	case n.Is(wsaSpace, "EndpointReference"):
		t.EPR = r.reference()
	case n.Is(wsdSpace, "Types"):
		t.Types = r.names()
	case n.Is(wsdSpace, "Scopes"):
		t.Scopes = r.list()
	case n.Is(wsdSpace, "XAddrs"):
		t.XAddrs = slices.DeleteFunc(r.list(), func(s string) bool { return !isHTTP(s) })
	case n.Is(wsdSpace, "MetadataVersion"):
		v, _ := strconv.ParseUint(r.text(), 10, 32)
		t.MetadataVersion = uint32(v)
	}
}

// reference reads the address of the endpoint reference just started.
func (r *reader) reference() (address string) {
	r.each(func(n xmlstream.Name) {
		if n.Is(wsaSpace, "Address") {
			address = r.text()
		}
	})
	return address
}

func isHTTP(s string) bool {
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "http" && u.Host != ""
}

// How scopes are compared (WS-Discovery 1.1, section 5.1).
const (
	matchRFC3986 = wsdSpace + "/rfc3986"
	matchStrcmp0 = wsdSpace + "/strcmp0"
	matchNone    = wsdSpace + "/none"
)

// A Wanted is what a Probe asks for: all of Types and all of Scopes.
type Wanted struct {
	Types  []QName
	Scopes []string
	Rule   string // empty: matchRFC3986
}

func (w *Wanted) read(r *reader) {
	r.each(func(n xmlstream.Name) {
		switch {
		case n.Is(wsdSpace, "Types"):
			w.Types = r.names()
		case n.Is(wsdSpace, "Scopes"):
			w.Rule = string(r.p.Attr("", "MatchBy"))
			w.Scopes = r.list()
		}
	})
}

// Matches says whether t is what is wanted. An unknown rule matches nothing.
func (w *Wanted) Matches(t *Target) bool {
	for _, q := range w.Types {
		if !slices.Contains(t.Types, q) {
			return false
		}
	}
	for _, s := range w.Scopes {
		if !slices.ContainsFunc(t.Scopes, func(have string) bool { return scopeMatches(w.Rule, s, have) }) {
			return false
		}
	}
	return w.Rule != matchNone || len(t.Scopes) == 0
}

func scopeMatches(rule, wanted, have string) bool {
	switch rule {
	case "", matchRFC3986:
		return prefixMatches(wanted, have)
	case matchStrcmp0:
		return wanted == have
	}
	return false
}

// prefixMatches: scheme and authority are equal, whatever their case, and the
// wanted path's segments begin the other's.
func prefixMatches(wanted, have string) bool {
	a, err1 := url.Parse(wanted)
	b, err2 := url.Parse(have)
	if err1 != nil || err2 != nil || !strings.EqualFold(a.Scheme, b.Scheme) || !strings.EqualFold(a.Host, b.Host) {
		return false
	}
	if a.Opaque != "" || b.Opaque != "" {
		return a.Opaque == b.Opaque
	}
	x, y := strings.TrimSuffix(a.EscapedPath(), "/"), b.EscapedPath()
	return x == y || strings.HasPrefix(y, x+"/") || x == "" && y == ""
}
