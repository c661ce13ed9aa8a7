package kernel

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// LookUp finds the addresses of a host as other programs of this machine find them. Network is ip, ip4 or ip6.
func LookUp(ctx context.Context, network, host string) ([]netip.Addr, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, network, host)
	if more := askSystem(ctx, network, host, err); more != nil {
		return more, nil
	}
	return found, err
}

// A Dialer is net.Dialer that looks hosts up as LookUp does.
type Dialer struct{ net.Dialer }

// DialContext is net.Dialer's.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	host, port, _ := net.SplitHostPort(address)
	for _, a := range askSystem(ctx, "ip", host, err) {
		if c, err = d.Dialer.DialContext(ctx, network, net.JoinHostPort(a.String(), port)); err == nil {
			break
		}
	}
	return c, err
}

// Dial is net.Dialer's.
func (d *Dialer) Dial(network, address string) (net.Conn, error) {
	return d.DialContext(context.Background(), network, address)
}

// Dial is DialContext of a Dialer of its own.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return new(Dialer).DialContext(ctx, network, address)
}

// askSystem asks who knows more than Go does, where Go has not found a host.
//
// Subtle: without cgo, Go asks /etc/hosts and DNS alone. What nsswitch.conf(5) names besides, such as multicast DNS
// (raspberrypi.local), the C library asks, and getent(1) asks that.
func askSystem(ctx context.Context, network, host string, err error) (found []netip.Addr) {
	var unknown *net.DNSError
	if !errors.As(err, &unknown) || host == "" || strings.HasPrefix(host, "-") || ctx.Err() != nil {
		return nil
	}
	const most = 10 * time.Second // multicast DNS waits for who does not answer
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	database := map[string]string{"ip": "ahosts", "ip4": "ahostsv4", "ip6": "ahostsv6"}[network]
	out, _ := Output(exec.CommandContext(ctx, "getent", database, host)) // it may not be there
	for line := range bytes.Lines(out) {
		text, _, _ := strings.Cut(string(line), " ")
		if a, err := netip.ParseAddr(text); err == nil && !slices.Contains(found, a) {
			found = append(found, a)
		}
	}
	// One that is good on one wire alone comes last: nobody else can be told of it.
	slices.SortStableFunc(found, func(a, b netip.Addr) int { return cmp.Compare(onOneWire(a), onOneWire(b)) })
	return found
}

func onOneWire(a netip.Addr) int {
	if a.IsLinkLocalUnicast() {
		return 1
	}
	return 0
}
