package dpws

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

const mediaType = "application/soap+xml; charset=utf-8"

// ErrTooLarge means that a peer said more than it may.
var ErrTooLarge = errors.New("larger than the limit")

// Fetch asks a device for its description, and its services for theirs, WSDL
// included. It tries the target's addresses in order.
func Fetch(ctx context.Context, c *http.Client, t Target) (*Description, error) {
	var errs []error
	for _, at := range t.XAddrs {
		d, err := fetch(ctx, c, at, t.EPR)
		if err == nil {
			return d, nil
		}
		errs = append(errs, fmt.Errorf("%s: %w", at, err))
	}
	if len(errs) == 0 {
		errs = []error{errors.New("it has no address")}
	}
	return nil, fmt.Errorf("describe %s: %w", t.EPR, errors.Join(errs...))
}

func fetch(ctx context.Context, c *http.Client, at, epr string) (*Description, error) {
	d := &Description{}
	if err := d.ask(ctx, c, at, epr, actionGet, ""); err != nil {
		return nil, err
	}
	d.XAddrs = []string{at}
	if d.EPR != epr {
		return nil, fmt.Errorf("another device, %s, answers there", d.EPR)
	}
	for i := range d.Hosted {
		h := &d.Hosted[i]
		if len(h.Addresses) == 0 {
			continue
		}
		var of Description
		if err := of.ask(ctx, c, h.Addresses[0], h.Addresses[0], actionMetadata,
			`<mex:GetMetadata xmlns:mex="`+mexSpace+`"/>`); err != nil {
			return nil, fmt.Errorf("service %s: %w", h.ID, err)
		}
		if len(of.Hosted) > 0 {
			h.WSDL = of.Hosted[0].WSDL
		}
		if h.WSDL == "" {
			continue
		}
		if err := readWSDL(ctx, c, h.WSDL); err != nil {
			return nil, fmt.Errorf("service %s: %s: %w", h.ID, h.WSDL, err)
		}
	}
	return d, nil
}

// ask sends one request and reads the Metadata of its answer.
func (d *Description) ask(ctx context.Context, c *http.Client, at, to, action, body string) error {
	h := Header{Action: []byte(action), To: []byte(to), MessageID: []byte(NewUUID()), ReplyTo: []byte(Anonymous)}
	b := append(append(h.AppendStart(nil), body...), End...)
	var got Header
	var fault *Fault
	found := false
	err := Post(ctx, c, at, b, &got, func(r *reader, n xmlstream.Name) {
		switch {
		case n.Is(mexSpace, "Metadata"):
			found = true
			d.read(r)
		case n.Is(soapSpace, "Fault"):
			fault = &Fault{}
			fault.read(r)
		}
	})
	switch {
	case err != nil:
		return err
	case fault != nil:
		return fault
	case !found:
		return errors.New("the answer has no Metadata")
	case !bytes.Equal(got.RelatesTo, h.MessageID):
		return errors.New("the answer relates to another request")
	}
	return nil
}

// Post sends an envelope and opens the one that comes back.
func Post(ctx context.Context, c *http.Client, at string, envelope []byte, h *Header,
	body func(*reader, xmlstream.Name)) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(envelope))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", mediaType)
	b, status, err := do(c, req, MaxEnvelope)
	if err != nil {
		return err
	}
	if len(b) == 0 {
		return fmt.Errorf("the answer is status %d without a body", status)
	}
	if err := open(b, h, body); err != nil {
		return fmt.Errorf("status %d: %w", status, err)
	}
	return nil
}

func do(c *http.Client, req *http.Request, limit int64) ([]byte, int, error) {
	resp, err := c.Do(req)
	if err != nil {
		return nil, 0, err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = ErrTooLarge
	}
	return b, resp.StatusCode, err
}

// maxWSDL bounds a WSDL; it is no envelope.
const maxWSDL = 1 << 20

// readWSDL gets a WSDL and reads over it: it must be one, and well-formed.
func readWSDL(ctx context.Context, c *http.Client, at string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	b, status, err := do(c, req, maxWSDL)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return err
	}
	r := &reader{p: new(xmlstream.Parser)}
	r.p.Reset(b)
	if r.next() == xmlstream.Start && !r.p.Name().Is(wsdlSpace, "definitions") {
		return errors.New("it is not WSDL")
	}
	for r.err == nil && r.next() != xmlstream.EOF {
	}
	return r.err
}

// Service finds the hosted service that has a type and an ID; empty: any.
func (d *Description) Service(of QName, id string) (*Hosted, error) {
	for i := range d.Hosted {
		h := &d.Hosted[i]
		if slices.Contains(h.Types, of) && (id == "" || h.ID == id) && len(h.Addresses) > 0 {
			return h, nil
		}
	}
	return nil, fmt.Errorf("device %s has no service %s of type %s", d.EPR, id, of.Local)
}

// Open reads an envelope's header alone, and sees that the rest is well-formed.
func Open(b []byte, h *Header) error { return open(b, h, nil) }
