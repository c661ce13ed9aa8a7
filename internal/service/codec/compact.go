package codec

import (
	"strings"

	"edgegauge/internal/service"
)

// The compact forms of XML and of SOAP 1.2. Not all of them can be written or
// read here (Encodings lists what can be), but all have media types.
const (
	XMLGzip             Encoding = "xml-gzip"
	FastInfoset         Encoding = "fastinfoset"
	EXI                 Encoding = "exi"
	EXICompressed       Encoding = "exi-compressed"
	EXISchema           Encoding = "exi-schema"
	EXISchemaCompressed Encoding = "exi-schema-compressed"

	SOAP12Gzip                Encoding = "soap12-gzip"
	SOAP12FastInfoset         Encoding = "soap12-fastinfoset"
	SOAP12EXI                 Encoding = "soap12-exi"
	SOAP12EXICompressed       Encoding = "soap12-exi-compressed"
	SOAP12EXISchema           Encoding = "soap12-exi-schema"
	SOAP12EXISchemaCompressed Encoding = "soap12-exi-schema-compressed"
)

// Compact lists the compact forms of XML in the order of the contract.
func Compact() []Encoding {
	return []Encoding{
		XMLGzip, FastInfoset, EXI, EXICompressed, EXISchema, EXISchemaCompressed,
		SOAP12Gzip, SOAP12FastInfoset, SOAP12EXI, SOAP12EXICompressed, SOAP12EXISchema, SOAP12EXISchemaCompressed,
	}
}

// Gzipped says whether the messages go with Content-Encoding: gzip.
func (e Encoding) Gzipped() bool { return e == XMLGzip || e == SOAP12Gzip }

// isEXI says whether the encoding is EXI, whatever its options.
func (e Encoding) isEXI() bool {
	return strings.HasPrefix(strings.TrimPrefix(string(e), "soap12-"), "exi")
}

// compactMedia is the media type of a compact form of XML.
func compactMedia(e Encoding, name service.Name, response bool) (media string, ok bool) {
	switch {
	case e == XMLGzip:
		return XML.MediaType(name, response), true
	case e == SOAP12Gzip:
		return SOAP12.MediaType(name, response), true
	case e == FastInfoset:
		return "application/fastinfoset", true
	case e == SOAP12FastInfoset && response:
		return "application/soap+fastinfoset", true
	case e == SOAP12FastInfoset:
		return `application/soap+fastinfoset; action="` + Action(name) + `"`, true
	case e.isEXI():
		return "application/exi", true
	}
	return "", false
}
