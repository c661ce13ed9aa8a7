package coap

// An oscoreOption is the value of option OSCORE (RFC 8613, section 6.1):
//
//	|0 0 0|h|k| n |  Partial IV, n bytes  | s | kid context, s bytes | kid …
type oscoreOption struct {
	piv        uint64
	hasPIV     bool
	kid        []byte
	hasKID     bool
	context    []byte
	hasContext bool
}

func (o *oscoreOption) append(dst []byte) []byte {
	if !o.hasPIV && !o.hasKID && !o.hasContext {
		return dst // a flag byte of 0 is left out
	}
	var room [5]byte
	var piv []byte
	if o.hasPIV {
		piv = pivBytes(&room, o.piv)
	}
	flags := byte(len(piv))
	if o.hasContext {
		flags |= 0x10
	}
	if o.hasKID {
		flags |= 0x08
	}
	dst = append(append(dst, flags), piv...)
	if o.hasContext {
		dst = append(append(dst, byte(len(o.context))), o.context...)
	}
	return append(dst, o.kid...)
}

func (o *oscoreOption) decode(b []byte) error {
	*o = oscoreOption{}
	if len(b) == 0 {
		return nil
	}
	flags := b[0]
	n := int(flags & 7)
	b = b[1:]
	if flags == 0 || flags&0xe0 != 0 || n > 5 || n > len(b) {
		return ErrOSCORE
	}
	for _, c := range b[:n] {
		o.piv = o.piv<<8 | uint64(c)
	}
	o.hasPIV, b = n > 0, b[n:]
	if flags&0x10 != 0 {
		if len(b) == 0 || int(b[0]) > len(b)-1 {
			return ErrOSCORE
		}
		n = int(b[0])
		o.context, o.hasContext, b = b[1:1+n], true, b[1+n:]
	}
	if flags&0x08 != 0 {
		o.kid, o.hasKID = b, true
	} else if len(b) > 0 {
		return ErrOSCORE
	}
	return nil
}

// outer says whether an option stays readable on the way (class U, section 4.1).
// Observe is both: see protect.
func outerOption(n OptionNumber) bool {
	switch n {
	case URIHost, URIPort, ProxyURI, ProxyScheme, HopLimit, OSCORE:
		return true
	}
	return false
}

// protectRequest turns m into its protected form, and says what its response
// will be bound to.
func (s *Security) protectRequest(m *Message) (binding, error) {
	if s.next > maxPIV {
		return binding{}, ErrExhausted
	}
	b := binding{s.keys.SenderID, s.next}
	s.next++
	o := oscoreOption{piv: b.piv, hasPIV: true, kid: b.id, hasKID: true, context: s.keys.IDContext,
		hasContext: len(s.keys.IDContext) > 0}
	s.protect(m, o, s.nonce(b.id, b.piv), b, POST, FETCH)
	return b, nil
}

// SealRequest protects a request in place, for those who send without a ClientExchange and
// ask one thing at a time. Again: it is the last one once more, under its number.
func (s *Security) SealRequest(m *Message, again bool) error {
	if again {
		s.next = s.last.piv
	}
	b, err := s.protectRequest(m)
	s.last = b
	return err
}

// OpenAnswer opens the answer to what SealRequest sealed last, in place.
func (s *Security) OpenAnswer(m *Message) error {
	_, err := s.unprotectResponse(m, s.last)
	return err
}

// protectResponse does so for the response to b. A response that is not the
// only one to its request, a notification, needs a number of its own.
func (s *Security) protectResponse(m *Message, b binding, own bool) error {
	if !own {
		s.protect(m, oscoreOption{}, s.nonce(b.id, b.piv), b, Changed, Content)
		return nil
	}
	if s.next > maxPIV {
		return ErrExhausted
	}
	piv := s.next
	s.next++
	s.protect(m, oscoreOption{piv: piv, hasPIV: true}, s.nonce(s.keys.SenderID, piv), b, Changed, Content)
	return nil
}

// protect moves code, options of class E and payload into the sealed payload:
// RFC 8613, sections 5 and 8. The outer code says nothing; with Observe it is another, as
// proxies must know.
func (s *Security) protect(m *Message, o oscoreOption, nonce [oscoreNonce]byte, b binding, outer, observing Code) {
	in := &s.inner
	in.Clear()
	in.Code, in.Payload = m.Code, m.Payload
	kept := m.Options[:0]
	code := outer
	for _, opt := range m.Options {
		if !outerOption(opt.Number) {
			in.Options = append(in.Options, opt)
		}
		if outerOption(opt.Number) || opt.Number == Observe {
			kept = append(kept, opt)
		}
		if opt.Number == Observe {
			code = observing
		}
	}
	m.Options = kept
	s.plain = in.appendContent(append(s.plain[:0], byte(in.Code))) // section 5.3
	s.sealed = s.sender.Seal(s.sealed[:0], nonce[:], s.plain, s.additional(b.id, b.piv))
	var room [1 + 5 + 1 + 255 + oscoreID]byte
	m.AddBytes(OSCORE, o.append(room[:0]))
	m.Code, m.Payload = code, s.sealed
}

// unprotectRequest opens m in place. A sequence number counts as seen only if
// the message is genuine (section 8.2).
func (s *Security) unprotectRequest(m *Message, o *oscoreOption) (binding, error) {
	b := binding{s.keys.RecipientID, o.piv}
	if !o.hasPIV {
		return b, ErrOSCORE
	}
	if !s.fresh(o.piv) {
		return b, ErrReplay
	}
	if err := s.open(m, s.nonce(b.id, b.piv), b); err != nil {
		return b, err
	}
	s.note(o.piv)
	return b, nil
}

// unprotectResponse opens the response to b in place.
func (s *Security) unprotectResponse(m *Message, b binding) (number uint64, err error) {
	value, ok := m.Option(OSCORE)
	if !ok {
		return 0, ErrOSCORE
	}
	var o oscoreOption
	if err := o.decode(value); err != nil {
		return 0, err
	}
	nonce := s.nonce(b.id, b.piv)
	if o.hasPIV {
		nonce = s.nonce(s.keys.RecipientID, o.piv)
	}
	return o.piv, s.open(m, nonce, b)
}

// open replaces code, options and payload by what was sealed. Outer options of
// class E are dropped: nobody vouches for them (section 8.2, step 7).
func (s *Security) open(m *Message, nonce [oscoreNonce]byte, b binding) error {
	if len(m.Payload) <= oscoreTag {
		return ErrOSCORE
	}
	plain, err := s.receiver.Open(nil, nonce[:], m.Payload, s.additional(b.id, b.piv))
	if err != nil {
		return ErrSeal
	}
	in := &s.inner
	in.Clear()
	in.Code = Code(plain[0])
	if err := in.decodeOptions(plain[1:]); err != nil || in.Code == Empty {
		return ErrOSCORE
	}
	kept := m.Options[:0]
	for _, opt := range m.Options {
		if outerOption(opt.Number) && opt.Number != OSCORE {
			kept = append(kept, opt)
		}
	}
	m.Options, m.Code, m.Payload = kept, in.Code, in.Payload
	for _, opt := range in.Options {
		if !outerOption(opt.Number) {
			m.Add(opt.Number, opt.Value)
		}
	}
	return nil
}
