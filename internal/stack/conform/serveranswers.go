package conform

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// writes checks that the server's answers are the canonical form, byte for byte,
// and say what they are.
func (c suite) writes(s, at string) error {
	name, enc := service.Name(s), codec.Encoding(c.wish.Encoding)
	ask, err := c.asker()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	var request service.Message
	service.Make(name, messageSeed, messageN, service.Width{}, &request)
	for range 2 {
		got, err := ask(ctx, at, enc, name, badRequest{body: codec.Append(enc, nil, name, false, &request)})
		if err != nil {
			return err
		}
		want, err := canonicalAnswer(enc, name, &request, got.body)
		switch {
		case err != nil:
			return fmt.Errorf("it answered %.100q: %w", got.body, err)
		case !bytes.Equal(got.body, want):
			return fmt.Errorf("it answered %.100q, the contract writes %.100q", got.body, want)
		case got.media != "" && !enc.Takes(got.media):
			return fmt.Errorf("the answer is %s, not %s", got.media, enc.MediaType(name, true))
		}
		if name != service.Echo {
			break
		}
		request.Text = append(request.Text[:0], "\u0001\b\t\n\f\r\"\\/\u007f<é€"...)
	}
	return nil
}

// canonicalAnswer is what the contract writes as the answer to a request. What a sensor says nobody knows beforehand:
// of got it is what the contract writes of the same reading.
func canonicalAnswer(enc codec.Encoding, name service.Name, request *service.Message, got []byte) ([]byte, error) {
	var answer service.Message
	var err error
	if name == service.Temperature {
		err = codec.Decode(enc, got, name, true, &answer)
	} else {
		kept := func(data, back []byte) ([]byte, error) { return append(back, data...), nil }
		err = service.Answer(name, request, &answer, service.Env{Keep: kept})
	}
	if err != nil {
		return nil, err
	}
	return codec.Append(enc, nil, name, true, &answer), nil
}

// refusesFields sends JSON in which one field is missing or of a wrong type.
func (c suite) refusesFields(s, at string) error {
	return c.refusesEach(s, at, func(_ codec.Encoding, good []byte) []badRequest { return wrongFields(good) })
}

// wrongFields spoils an object of JSON in each field.
func wrongFields(good []byte) []badRequest {
	var fields map[string]json.RawMessage
	if json.Unmarshal(good, &fields) != nil {
		return nil
	}
	var all []badRequest
	spoilt := func(what, field, value string) {
		was := fields[field]
		defer func() { fields[field] = was }()
		if fields[field] = json.RawMessage(value); value == "" {
			delete(fields, field)
		}
		body, _ := json.Marshal(fields) // of values that were read or are written here
		all = append(all, badRequest{what: what + " " + field, body: body})
	}
	names := make([]string, 0, len(fields))
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		spoilt("no", name, "")
		spoilt("null as", name, "null")
		switch value := fields[name]; {
		case value[0] == '"': // a number or a boolean some frameworks take for its text
		case value[0] == '[':
			spoilt("an object as", name, "{}")
		case value[0] == 't' || value[0] == 'f':
			spoilt("a number as", name, "1")
		default:
			spoilt("a text as", name, `"1"`)
			spoilt("a boolean as", name, "true")
			if !strings.Contains(string(value), ".") {
				spoilt("2147483648 as", name, "2147483648")
				spoilt("1.5 as", name, "1.5")
			}
		}
	}
	all = append(all, badRequest{what: "a list", body: fmt.Appendf(nil, "[%s]", good)},
		badRequest{what: "something behind the object", body: append(slices.Clone(good), '}')})
	for what, text := range map[string]string{"text that is not UTF-8": "\xff", "half a surrogate pair": `\ud83d`} {
		if body := bytes.Replace(good, []byte(`":"`), []byte(`":"`+text), 1); !bytes.Equal(body, good) {
			all = append(all, badRequest{what: what, body: body})
		}
	}
	return all
}

// listens checks that a server on 127.0.0.1 is not at another address of this machine.
func (c suite) listens(at string) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		return nil // nobody can start two on a port that everybody knows
	}
	network := "udp"
	if slices.Contains(overTCP, c.wish.Transport) || c.wish.Transport == "dpws" {
		network = "tcp"
	}
	for _, other := range []string{"127.0.0.2", "::1"} { // all of 127.0.0.0/8 is this machine
		conn, err := net.DialTimeout(network, net.JoinHostPort(other, port), 5*time.Second)
		if err == nil {
			defer conn.Close()
		}
		if err == nil && network == "udp" {
			conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
			conn.Write([]byte{0x40, 0, 0, 1}) // CoAP's ping, which is answered by a reset
			_, err = conn.Read(make([]byte, 1))
			if !errors.Is(err, syscall.ECONNREFUSED) {
				err = nil
			}
		}
		if err == nil {
			return fmt.Errorf("told to listen on 127.0.0.1 only, it also listens on %s", net.JoinHostPort(other, port))
		}
	}
	return nil
}
