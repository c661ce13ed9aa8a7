package dpws

import (
	"net/http"
	"strings"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A Description is a device as it describes itself (DPWS 1.1, section 5).
type Description struct {
	Target
	Manufacturer, Model    string // ThisModel
	Name, Firmware, Serial string // ThisDevice
	Hosted                 []Hosted
}

// Hosted is a service of a device.
type Hosted struct {
	Addresses []string // of its endpoint references
	Types     []QName
	ID        string
	WSDL      string // where its WSDL is
}

const describeSpaces = ` xmlns:dpws="` + dpwsSpace + `" xmlns:mex="` + mexSpace + `"`

// Answer appends the answer to a request of WS-Transfer or
// WS-MetadataExchange, for the device itself or, if hosted is not nil, for that
// service. ok is false if h asks for something else.
func (d *Description) Answer(dst []byte, n *Namer, h *Header, hosted *Hosted) (answer []byte, ok bool) {
	reply := Header{MessageID: n.Append(nil), RelatesTo: h.MessageID, To: []byte(Anonymous)}
	switch {
	case string(h.Action) == actionGet && hosted == nil:
		reply.Action = []byte(actionGetResponse)
		dst = reply.appendStart(dst, describeSpaces, "")
		return append(d.appendDevice(dst), End...), true
	case string(h.Action) == actionMetadata && hosted != nil:
		reply.Action = []byte(actionMetadataReply)
		dst = reply.appendStart(dst, describeSpaces, "")
		return append(d.appendService(dst, hosted), End...), true
	}
	return dst, false
}

func (d *Description) appendDevice(dst []byte) []byte {
	dst = section(append(dst, "<mex:Metadata>"...), dpwsSpace+"/ThisModel")
	dst = element(append(dst, "<dpws:ThisModel>"...), "dpws:Manufacturer", []byte(d.Manufacturer))
	dst = element(dst, "dpws:ModelName", []byte(d.Model))
	dst = section(append(dst, "</dpws:ThisModel></mex:MetadataSection>"...), dpwsSpace+"/ThisDevice")
	dst = element(append(dst, "<dpws:ThisDevice>"...), "dpws:FriendlyName", []byte(d.Name))
	dst = element(dst, "dpws:FirmwareVersion", []byte(d.Firmware))
	dst = element(dst, "dpws:SerialNumber", []byte(d.Serial))
	dst = append(dst, "</dpws:ThisDevice></mex:MetadataSection>"...)
	all := make([]*Hosted, len(d.Hosted))
	for i := range d.Hosted {
		all[i] = &d.Hosted[i]
	}
	return append(d.relationship(dst, all...), "</mex:Metadata>"...)
}

func (d *Description) appendService(dst []byte, hosted *Hosted) []byte {
	dst = d.relationship(append(dst, "<mex:Metadata>"...), hosted)
	if hosted.WSDL != "" {
		dst = element(section(dst, wsdlSpace), "mex:Location", []byte(hosted.WSDL))
		dst = append(dst, "</mex:MetadataSection>"...)
	}
	return append(dst, "</mex:Metadata>"...)
}

func section(dst []byte, dialect string) []byte {
	return append(append(append(dst, `<mex:MetadataSection Dialect="`...), dialect...), `">`...)
}

func (d *Description) relationship(dst []byte, hosted ...*Hosted) []byte {
	dst = append(section(dst, dpwsSpace+"/Relationship"), `<dpws:Relationship Type="`+dpwsSpace+`/host"><dpws:Host>`...)
	dst = appendReference(dst, d.EPR)
	dst = append(appendTypes(dst, "dpws", d.Types), "</dpws:Host>"...)
	for _, h := range hosted {
		dst = append(dst, "<dpws:Hosted>"...)
		for _, a := range h.Addresses {
			dst = appendReference(dst, a)
		}
		dst = element(appendTypes(dst, "dpws", h.Types), "dpws:ServiceId", []byte(h.ID))
		dst = append(dst, "</dpws:Hosted>"...)
	}
	return append(dst, "</dpws:Relationship></mex:MetadataSection>"...)
}

func appendReference(dst []byte, address string) []byte {
	dst = element(append(dst, "<wsa:EndpointReference>"...), "wsa:Address", []byte(address))
	return append(dst, "</wsa:EndpointReference>"...)
}

// read reads a Metadata element. What it does not know it leaves.
func (d *Description) read(r *reader) {
	r.each(func(n xmlstream.Name) {
		if !n.Is(mexSpace, "MetadataSection") {
			return
		}
		wsdl := strings.TrimSuffix(string(r.p.Attr("", "Dialect")), "/") == strings.TrimSuffix(wsdlSpace, "/")
		r.each(func(n xmlstream.Name) {
			switch {
			case wsdl && n.Is(mexSpace, "Location") && len(d.Hosted) > 0:
				d.Hosted[0].WSDL = r.text()
			case n.Is(dpwsSpace, "ThisModel"), n.Is(dpwsSpace, "ThisDevice"):
				r.each(func(n xmlstream.Name) { d.about(r, n) })
			case n.Is(dpwsSpace, "Relationship"):
				r.each(func(n xmlstream.Name) { d.related(r, n) })
			}
		})
	})
}

func (d *Description) about(r *reader, n xmlstream.Name) {
	if string(n.Space) != dpwsSpace {
		return
	}
	for name, to := range map[string]*string{"Manufacturer": &d.Manufacturer, "ModelName": &d.Model,
		"FriendlyName": &d.Name, "FirmwareVersion": &d.Firmware, "SerialNumber": &d.Serial} {
		if string(n.Local) == name {
			*to = r.text()
			return
		}
	}
}

func (d *Description) related(r *reader, n xmlstream.Name) {
	switch {
	case n.Is(dpwsSpace, "Host"):
		r.each(func(n xmlstream.Name) {
			switch {
			case n.Is(wsaSpace, "EndpointReference"):
				d.EPR = r.reference()
			case n.Is(dpwsSpace, "Types"):
				d.Types = r.names()
			}
		})
	case n.Is(dpwsSpace, "Hosted"):
		if len(d.Hosted) == maxList {
			r.fail(errList)
			return
		}
		var h Hosted
		r.each(func(n xmlstream.Name) {
			switch {
			case n.Is(wsaSpace, "EndpointReference") && len(h.Addresses) < maxList:
				h.Addresses = append(h.Addresses, r.reference())
			case n.Is(dpwsSpace, "Types"):
				h.Types = r.names()
			case n.Is(dpwsSpace, "ServiceId"):
				h.ID = r.text()
			}
		})
		d.Hosted = append(d.Hosted, h)
	}
}

// A Fault is what a peer answered instead, or what it is to be told.
type Fault struct{ Code, Subcode, Reason string }

// Error is the fault in one line: its code and its reason.
func (f *Fault) Error() string {
	return "fault " + strings.TrimSuffix(f.Code+" "+f.Subcode, " ") + ": " + f.Reason
}

// Append appends the fault as an answer to h; Code is Sender or Receiver,
// Subcode a name of WS-Addressing, wse: and one of WS-Eventing, or empty.
func (f *Fault) Append(dst []byte, n *Namer, h *Header) []byte {
	reply := Header{Action: []byte(actionFault), MessageID: n.Append(nil), RelatesTo: h.MessageID, To: []byte(Anonymous)}
	dst = append(reply.appendStart(dst, eventSpaces, ""),
		"<soap:Fault><soap:Code><soap:Value>soap:"+f.Code+"</soap:Value>"...)
	if f.Subcode != "" {
		name := f.Subcode
		if !strings.Contains(name, ":") {
			name = "wsa:" + name
		}
		dst = append(dst, "<soap:Subcode><soap:Value>"+name+"</soap:Value></soap:Subcode>"...)
	}
	dst = append(dst, `</soap:Code><soap:Reason><soap:Text xml:lang="en">`...)
	dst = xmlstream.AppendText(dst, []byte(f.Reason))
	return append(dst, "</soap:Text></soap:Reason></soap:Fault>"+End...)
}

// Status is the HTTP status that the fault goes with: SOAP 1.2 part 2, table 20.
func (f *Fault) Status() int {
	if f.Code == "Sender" {
		return http.StatusBadRequest
	}
	return http.StatusInternalServerError
}

// localName is a qualified name without its prefix, if it has one: the default namespace has none.
func localName(qname string) string { return qname[strings.IndexByte(qname, ':')+1:] }

func (f *Fault) read(r *reader) {
	r.each(func(n xmlstream.Name) {
		switch string(n.Local) {
		case "Code":
			r.each(func(n xmlstream.Name) {
				switch string(n.Local) {
				case "Value":
					f.Code = localName(r.text())
				case "Subcode":
					r.each(func(n xmlstream.Name) {
						if string(n.Local) == "Value" {
							f.Subcode = localName(r.text())
						}
					})
				}
			})
		case "Reason":
			r.each(func(xmlstream.Name) { f.Reason = r.text() })
		}
	})
}
