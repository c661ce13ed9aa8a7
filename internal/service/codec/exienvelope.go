package codec

import "edgegauge.example/edgegauge/internal/service"

// The parts of a fault that the string tables know beforehand: the namespace of
// xml:lang and its name there (EXI 1.0, appendix D). Namespaces are six: none,
// xml, xsi, xsd and the schema's two; one code more says that another follows.
const (
	exiNamespaceBits = 3
	exiNamespaceXML  = 1 + 1 // 0 is another
	exiXMLNameBits   = 2     // base, id, lang, space
	exiXMLLang       = 2
)

func appendEXIEnvelope(dst []byte, s *shape, m *service.Message) []byte {
	w := bitWriter{dst: append(dst, exiHeader)}
	w.put(exiEnvelope, exiRootBits)
	w.put(s.exiChild, exiRootBits)
	w.message(s, m)
	return w.flush()
}

// appendEXIFault appends what AppendFault of SOAP 1.2 says: Code and Value cost
// no bit; Text has attributes, each after a 0, and its string after a 1.
func appendEXIFault(dst []byte, f *Fault) []byte {
	w := bitWriter{dst: append(dst, exiHeader)}
	w.put(exiEnvelope, exiRootBits)
	w.put(exiFault, exiRootBits)
	w.put(0, 1) // no xsi:type
	w.literal([]byte("soap:" + string(f.Code)))
	w.put(0, 1)
	w.put(exiNamespaceXML, exiNamespaceBits)
	w.unsigned(0) // a name that is known
	w.put(exiXMLLang, exiXMLNameBits)
	w.literal([]byte("en"))
	w.put(1, 1)
	if f.Reason == "en" { // the second value of the table of all
		w.unsigned(1)
		w.put(1, 1)
	} else {
		w.literal([]byte(f.Reason))
	}
	return w.flush()
}

func decodeEXIEnvelope(b []byte, s *shape, m *service.Message, limit int) error {
	r := exiReader{bitReader: bitReader{b: b}, room: limit}
	r.header()
	if r.take(exiRootBits) != exiEnvelope {
		r.fail("root is not Envelope")
	}
	var fault *Fault
	switch child := r.take(exiRootBits); {
	case r.problem != "":
	case child == exiFault:
		fault = r.fault()
	case child != s.exiChild:
		r.fail("Body does not hold " + s.name)
	default:
		r.message(s, m)
	}
	if err := r.close(SOAP12EXISchema); err != nil || fault == nil {
		return err
	}
	return fault
}

// fault reads a fault. Of attributes it takes those of XML, such as xml:lang.
func (r *exiReader) fault() *Fault {
	var all [][]byte // the values so far, each of an element or attribute of its own
	r.typed(text)
	code := r.value(&all, 1)
	for seen := 0; r.take(1) == 0 && r.problem == ""; seen++ {
		if r.take(exiNamespaceBits) != exiNamespaceXML || r.unsigned() != 0 || seen == 1<<exiXMLNameBits {
			r.fail("attribute is not one of XML's")
			return nil
		}
		r.take(exiXMLNameBits)
		r.value(&all, 1)
	}
	reason := r.value(&all, 1)
	return &Fault{faultCode(code), string(trimSpace(reason))}
}

// value reads a string that may be one of all before, whose places are whole
// multiples of unit bits: 1, or 8 where everything is in bytes.
func (r *exiReader) value(all *[][]byte, unit uint) []byte {
	n := r.unsigned()
	switch {
	case n >= 2:
		v := r.literal(nil, n-2)
		if len(v) > 0 {
			*all = append(*all, v)
		}
		return v
	case n == 1 && len(*all) > 0:
		if id := r.take((placeBits(len(*all)) + unit - 1) / unit * unit); id < uint64(len(*all)) {
			r.made(len((*all)[id]))
			return (*all)[id]
		}
	}
	r.fail("string is not in the table")
	return nil
}
