package instrument

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/instrument/energy"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/printable"
)

// openShelly reads a Shelly plug over HTTP, first or second generation: about
// one reading a second, at the mains.
func openShelly(ctx context.Context, arg string, o Options) (Meter, error) {
	p, err := parsePlug("shelly", arg, o)
	if err != nil {
		return nil, err
	}
	read := p.readShelly2
	if _, err := read(ctx); err != nil {
		first := err
		read = p.readShelly1
		if _, err := read(ctx); err != nil {
			return nil, fmt.Errorf("%w; nor does it answer as a first-generation plug: %w", first, err)
		}
	}
	return plug("shelly", read), nil
}

// openTasmota reads a plug with the Tasmota firmware.
func openTasmota(ctx context.Context, arg string, o Options) (Meter, error) {
	p, err := parsePlug("tasmota", arg, o)
	if err != nil {
		return nil, err
	}
	p.basic = true // it asks for a password by an answer of its own
	if _, err := p.readTasmota(ctx); err != nil {
		return nil, err
	}
	return plug("tasmota", p.readTasmota), nil
}

func plug(name string, read func(context.Context) (reading, error)) Meter {
	return &poller{name: name, quantities: threeQuantities, read: read,
		facts: energy.Facts{Kind: energy.Instant, Interval: time.Second, Resolution: 0.1}}
}

// A plugClient asks one plug.
type plugClient struct {
	http  *http.Client
	base  string        // address without a slash at its end, and without the login
	login *url.Userinfo // nil: none
	// How the plug wants to see the password: it said so, or is known to. Neither: it was not asked yet.
	basic  bool
	digest *digest
}

// PasswordOf finds where the address of a plug says that its password is to be
// found: "environment variable NAME" or "file PATH"; and to whom it is sent. It is
// ok if there is such a place: if not, opening the plug sends nothing of this machine.
func PasswordOf(spec string) (place, plug string, ok bool) {
	kind, arg, _ := strings.Cut(spec, ":")
	if kind != "shelly" && kind != "tasmota" {
		return "", "", false
	}
	u, err := url.Parse(arg)
	if err != nil || u.RawQuery == "" {
		return "", "", false
	}
	kind, name, err := passwordPlace(u)
	switch {
	case err != nil: // and so is the plug's opening
		return "", "", false
	case kind == inEnvironment:
		return "environment variable " + name, u.Host, true
	}
	return "file " + name, u.Host, true
}

// The places where the password of a plug may be.
const (
	inEnvironment = "env"
	inFile        = "file"
)

// passwordPlace reads from the query of a plug's address where its password is. Who asks for consent and who sends
// the password read it here.
func passwordPlace(u *url.URL) (kind, name string, err error) {
	_, set, err := settings("?"+u.RawQuery, "password")
	if err != nil {
		return "", "", errors.New("the address of a plug takes only one setting: ?password=env:VARIABLE, or " +
			"?password=file:PATH")
	}
	if kind, name, _ = strings.Cut(set["password"], ":"); kind != inEnvironment && kind != inFile {
		return "", "",
			errors.New("the address must not contain a password; write ?password=env:VARIABLE, or ?password=file:PATH")
	}
	return kind, name, nil
}

// parsePlug reads http://NAME@HOST?password=env:VARIABLE, or file:PATH, and gets the
// password from there. Errors show no password.
func parsePlug(source, arg string, o Options) (*plugClient, error) {
	u, err := url.Parse(arg)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		shown := strings.TrimPrefix(printable.Redact(source+":"+arg), source+":")
		return nil, fmt.Errorf("invalid plug address %q; write %s:http://192.168.1.20", shown, source)
	}
	p := &plugClient{http: o.HTTP, login: u.User}
	if u.RawQuery != "" {
		if p.login, err = loginFrom(u); err != nil {
			return nil, err
		}
	}
	if password, _ := p.login.Password(); password == printable.Hidden {
		return nil, errors.New("its password is not stored with results; write http://NAME@HOST?password=env:VARIABLE")
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	p.base = strings.TrimSuffix(u.String(), "/")
	return p, nil
}

// loginFrom gets the password that the query of a plug's address leads to. Who has
// no name is admin, as on plugs of both makers.
func loginFrom(u *url.URL) (*url.Userinfo, error) {
	kind, name, err := passwordPlace(u)
	if err != nil {
		return nil, err
	}
	var password string
	if kind == inEnvironment {
		if password = os.Getenv(name); password == "" {
			return nil, fmt.Errorf("the environment variable %s, which should hold its password, is empty", name)
		}
	} else {
		b, err := kernel.ReadFile(name, 1<<16)
		if err != nil {
			return nil, fmt.Errorf("its password: %w", err)
		}
		password = strings.TrimRight(string(b), "\r\n")
	}
	user := "admin"
	if u.User.Username() != "" {
		user = u.User.Username()
	}
	return url.UserPassword(user, password), nil
}

// ask sends a request, and where it is refused once more, with what the plug asks for.
func (p *plugClient) ask(ctx context.Context, address string) (*http.Response, error) {
	res, err := p.send(ctx, address)
	if err != nil || res.StatusCode != http.StatusUnauthorized || p.login == nil {
		return res, err
	}
	if d := digestOf(res.Header.Values("WWW-Authenticate")); d != nil { // anew: a nonce is good for some time, or once
		p.digest, p.basic = d, false
	} else if !p.basic {
		p.digest, p.basic = nil, true
	} else {
		return res, nil
	}
	res.Body.Close()
	return p.send(ctx, address)
}

func (p *plugClient) send(ctx context.Context, address string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	switch {
	case p.login == nil:
	case p.digest != nil:
		req.Header.Set("Authorization", p.digest.answer(p.login, req.URL.RequestURI()))
	case p.basic:
		password, _ := p.login.Password()
		req.SetBasicAuth(p.login.Username(), password)
	}
	return p.http.Do(req)
}

// get asks for a small JSON document.
func (p *plugClient) get(ctx context.Context, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	res, err := p.ask(ctx, address)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	switch {
	case res.StatusCode == http.StatusUnauthorized && p.login != nil:
		return fatal{fmt.Errorf("%s does not take this password, or this user name", address)}
	case res.StatusCode == http.StatusUnauthorized:
		return fatal{fmt.Errorf("%s requires a password; add ?password=env:VARIABLE to the plug's address (doc/energy.md)",
			address)}
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answers %s", address, res.Status)
	case err != nil:
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: %w", address, err)
	}
	return nil
}

// some is a figure that the answer must hold; a plug that leaves it out, or says
// null, has no reading.
func some(x *float64, address, name string) (float64, error) {
	if x == nil {
		return 0, fmt.Errorf("%s does not report %s: does this plug measure?", address, name)
	}
	return *x, nil
}

func maybe(x *float64) float64 {
	if x == nil {
		return unknown.watts
	}
	return *x
}

func (p *plugClient) readShelly2(ctx context.Context) (reading, error) {
	address := p.base + "/rpc/Switch.GetStatus?id=0"
	var s struct {
		Power   *float64 `json:"apower"`
		Voltage *float64 `json:"voltage"`
		Current *float64 `json:"current"`
	}
	if err := p.get(ctx, address, &s); err != nil {
		return unknown, err
	}
	r := unknown
	var err error
	r.watts, err = some(s.Power, address, "apower")
	r.volts, r.amps = maybe(s.Voltage), maybe(s.Current)
	return r, err
}

func (p *plugClient) readShelly1(ctx context.Context) (reading, error) {
	address := p.base + "/status"
	var s struct {
		Meters []struct {
			Power *float64 `json:"power"`
			Valid *bool    `json:"is_valid"`
		} `json:"meters"`
	}
	if err := p.get(ctx, address, &s); err != nil {
		return unknown, err
	}
	if len(s.Meters) == 0 {
		return unknown, fmt.Errorf("%s lists no meter", address)
	}
	if v := s.Meters[0].Valid; v != nil && !*v {
		return unknown, fmt.Errorf("%s: the meter reports that its reading is not valid", address)
	}
	r := unknown
	var err error
	r.watts, err = some(s.Meters[0].Power, address, "meters[0].power")
	return r, err
}

func (p *plugClient) readTasmota(ctx context.Context) (reading, error) {
	address := p.base + "/cm?cmnd=Status%208"
	var s struct {
		Warning string
		Status  struct {
			Energy *struct{ Power, Voltage, Current *float64 } `json:"ENERGY"`
		} `json:"StatusSNS"`
	}
	if err := p.get(ctx, address, &s); err != nil {
		return unknown, err
	}
	if s.Warning != "" {
		return unknown, fatal{fmt.Errorf("%s: %s", address, s.Warning)} // "Need user=<username>&password=<password>"
	}
	if s.Status.Energy == nil {
		return unknown, fmt.Errorf("%s does not report ENERGY: does this plug measure?", address)
	}
	r := unknown
	var err error
	r.watts, err = some(s.Status.Energy.Power, address, "ENERGY.Power")
	r.volts, r.amps = maybe(s.Status.Energy.Voltage), maybe(s.Status.Energy.Current)
	return r, err
}
