package lab

import (
	"fmt"
	"net/netip"
)

// Reach is the address that the server listens on where one side of a treatment is on a board and the other is not: the
// board's where the server is on it, else this machine's. It has both as device.Away.Addresses does. Why is empty, or
// says why the client cannot use it, and advice what to write.
func Reach(board string, there, here netip.Addr, onBoard bool, ip string) (at netip.Addr, why, advice string) {
	at, reached := there, "the board"
	if !onBoard {
		at, reached = here, "this machine"
	}
	other := "ipv4"
	if at.Is6() {
		other = "ipv6"
	}
	switch {
	case !at.IsValid():
		return at, fmt.Sprintf("client and server cannot reach each other directly: %s is behind a jump host", board),
			"put both sides on it"
	case at.Is6() && at.IsLinkLocalUnicast(): // an address that each machine must be told the interface of
		return at, fmt.Sprintf("%s is reached at %v, a link-local address, which means nothing without an interface",
			reached, at), otherName(ip)
	case at.Is4() == (ip == "ipv6"):
		return at, fmt.Sprintf("the study asks for %s, but %s is reached at %v", ip, reached, at),
			fmt.Sprintf("write ip: %s, or %s", other, otherName(ip))
	}
	return at, "", ""
}

// otherName says how to reach a board at an address of an IP version.
func otherName(ip string) string {
	address := "ssh://192.0.2.7"
	if ip == "ipv6" {
		address = "ssh://[2001:db8::7]"
	}
	return "name the board by another address, such as " + address + ", or by a name of which ~/.ssh/config says " +
		"another HostName"
}

// ReachedAt is the address at which other benches reach a server of this one. It fails where that is not an address of
// the IP version that the study asks for.
func ReachedAt(address, ip string) (string, error) {
	at, err := netip.ParseAddr(address)
	switch {
	case err != nil:
		return "", fmt.Errorf("other benches reach this one at %q, which is not an address; start its worker with --address",
			address)
	case at.Is4() == (ip == "ipv6"):
		return "", fmt.Errorf("the study asks for %s, but other benches reach this one at %v; start its worker with another "+
			"--address", ip, at)
	}
	return at.String(), nil
}

// Loopback is the address at which programs of one machine speak.
func Loopback(ip string) string {
	if ip == "ipv6" {
		return "::1"
	}
	return "127.0.0.1"
}
