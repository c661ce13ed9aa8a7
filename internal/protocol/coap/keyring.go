package coap

import (
	"errors"
	"sync"
)

// A Keyring holds the contexts of those who speak OSCORE with a server. Who
// knows the secret may come with any ID context: their context is derived when
// their first genuine message is there, and remembered, so that nothing of it
// can be replayed. Beyond Most nobody new is let in.
type Keyring struct {
	Keys Keys // the server's view; IDContext is of no use here
	Most int  // contexts; 4096

	mu       sync.Mutex
	contexts map[string]*Security
}

// find returns the context of a request, and whether it is one not yet kept.
func (k *Keyring) find(o *oscoreOption) (s *Security, stranger bool, err error) {
	if !o.hasKID || string(o.kid) != string(k.Keys.RecipientID) || len(o.context) > 64 {
		return nil, false, ErrNoContext
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s := k.contexts[string(o.context)]; s != nil {
		return s, false, nil
	}
	most := k.Most
	set(&most, 4096)
	if len(k.contexts) >= most {
		return nil, false, ErrNoContext
	}
	keys := k.Keys
	keys.IDContext = append([]byte(nil), o.context...)
	s, err = NewSecurity(keys)
	return s, true, err
}

func (k *Keyring) keep(s *Security) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.contexts == nil {
		k.contexts = map[string]*Security{}
	}
	k.contexts[string(s.keys.IDContext)] = s
}

// unseal opens a request protected by OSCORE in place. The codes are those of
// RFC 8613, section 8.2.
func (ep *endpoint) unseal(t *task) Code {
	t.security = nil
	if ep.s.Keyring == nil {
		return 0 // option OSCORE is refused as one not understood
	}
	value, protected := t.in.Option(OSCORE)
	if !protected {
		return Unauthorized
	}
	var o oscoreOption
	err := o.decode(value)
	var s *Security
	stranger := false
	if err == nil {
		s, stranger, err = ep.s.Keyring.find(&o)
	}
	if err == nil {
		t.bound, err = s.unprotectRequest(&t.in, &o)
	}
	if err == nil && !t.in.Code.request() {
		err = ErrOSCORE
	}
	switch {
	case err == nil:
		if stranger {
			ep.s.Keyring.keep(s)
		}
		t.security = s
		return 0
	case errors.Is(err, ErrReplay):
		ep.s.Counts.Replayed.Add(1)
		return Unauthorized
	}
	ep.s.Counts.Unopened.Add(1)
	switch {
	case errors.Is(err, ErrNoContext):
		return Unauthorized
	case errors.Is(err, ErrSeal):
		return BadRequest
	}
	return BadOption
}
