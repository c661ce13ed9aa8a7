package instrument

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"edgegauge/internal/instrument/energy"
)

// openShelly reads a Shelly plug over HTTP, first or second generation: about
// one reading a second, at the mains.
func openShelly(ctx context.Context, arg string, o Options) (Meter, error) {
	base, err := plugURL("shelly", arg)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context) (reading, error) { return readShelly2(ctx, o.HTTP, base) }
	if _, err := read(ctx); err != nil {
		first := err
		read = func(ctx context.Context) (reading, error) { return readShelly1(ctx, o.HTTP, base) }
		if _, err := read(ctx); err != nil {
			return nil, fmt.Errorf("%w; nor does it answer as a first generation: %w", first, err)
		}
	}
	return plug("shelly", read), nil
}

// openTasmota reads a plug with the Tasmota firmware.
func openTasmota(ctx context.Context, arg string, o Options) (Meter, error) {
	base, err := plugURL("tasmota", arg)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context) (reading, error) { return readTasmota(ctx, o.HTTP, base) }
	if _, err := read(ctx); err != nil {
		return nil, err
	}
	return plug("tasmota", read), nil
}

func plug(name string, read func(context.Context) (reading, error)) Meter {
	return &poller{name: name, quantities: threeQuantities, read: read,
		facts: energy.Facts{Kind: energy.Instant, Interval: time.Second, Resolution: 0.1}}
}

func plugURL(source, arg string) (string, error) {
	u, err := url.Parse(arg)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is no address of a plug; write %s:http://192.168.1.20", arg, source)
	}
	return strings.TrimSuffix(arg, "/"), nil
}

// get asks for a small JSON document.
func get(ctx context.Context, c *http.Client, address string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := c.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	switch {
	case res.StatusCode == http.StatusUnauthorized:
		return fatal{fmt.Errorf("%s wants a password; put it into the address (http://user:password@host)", address)}
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
		return 0, fmt.Errorf("%s says nothing of %s: is it a plug that measures?", address, name)
	}
	return *x, nil
}

func maybe(x *float64) float64 {
	if x == nil {
		return unknown.watts
	}
	return *x
}

func readShelly2(ctx context.Context, c *http.Client, base string) (reading, error) {
	address := base + "/rpc/Switch.GetStatus?id=0"
	var s struct {
		Power   *float64 `json:"apower"`
		Voltage *float64 `json:"voltage"`
		Current *float64 `json:"current"`
	}
	if err := get(ctx, c, address, &s); err != nil {
		return unknown, err
	}
	r := unknown
	var err error
	r.watts, err = some(s.Power, address, "apower")
	r.volts, r.amps = maybe(s.Voltage), maybe(s.Current)
	return r, err
}

func readShelly1(ctx context.Context, c *http.Client, base string) (reading, error) {
	address := base + "/status"
	var s struct {
		Meters []struct {
			Power *float64 `json:"power"`
			Valid *bool    `json:"is_valid"`
		} `json:"meters"`
	}
	if err := get(ctx, c, address, &s); err != nil {
		return unknown, err
	}
	if len(s.Meters) == 0 {
		return unknown, fmt.Errorf("%s lists no meter", address)
	}
	if v := s.Meters[0].Valid; v != nil && !*v {
		return unknown, fmt.Errorf("%s: the meter says its reading is not valid", address)
	}
	r := unknown
	var err error
	r.watts, err = some(s.Meters[0].Power, address, "meters[0].power")
	return r, err
}

func readTasmota(ctx context.Context, c *http.Client, base string) (reading, error) {
	address := base + "/cm?cmnd=Status%208"
	var s struct {
		Warning string
		Status  struct {
			Energy *struct{ Power, Voltage, Current *float64 } `json:"ENERGY"`
		} `json:"StatusSNS"`
	}
	if err := get(ctx, c, address, &s); err != nil {
		return unknown, err
	}
	if s.Warning != "" {
		return unknown, fatal{fmt.Errorf("%s: %s", address, s.Warning)} // "Need user=<username>&password=<password>"
	}
	if s.Status.Energy == nil {
		return unknown, fmt.Errorf("%s says nothing of ENERGY: is it a plug that measures?", address)
	}
	r := unknown
	var err error
	r.watts, err = some(s.Status.Energy.Power, address, "ENERGY.Power")
	r.volts, r.amps = maybe(s.Status.Energy.Voltage), maybe(s.Status.Energy.Current)
	return r, err
}
