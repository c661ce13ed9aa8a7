package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	crypto "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"
)

// errFinal marks what trying again does not mend.
var errFinal = errors.New("retrying does not help")

// A refusal is an error that trying again does not mend, in its own words.
type refusal struct{ text string }

func (r refusal) Error() string        { return r.text }
func (r refusal) Is(target error) bool { return target == errFinal }

// checkKey makes the callback that compares a host key with those that are
// known, and the algorithms to ask for: the kinds of key that are known of the
// host, else the server might show another, which nobody knows.
func (h host) checkKey() (crypto.HostKeyCallback, []string, error) {
	var there []string
	for _, f := range h.known {
		if _, err := os.Stat(f); err == nil {
			there = append(there, f)
		}
	}
	known, err := knownhosts.New(there...)
	if err != nil {
		return nil, nil, refusal{fmt.Sprintf("known hosts: %v; fix or remove that line", err)}
	}
	check := func(_ string, remote net.Addr, key crypto.PublicKey) error {
		err := known(h.knownAs(), remote, key)
		var ke *knownhosts.KeyError
		var revoked *knownhosts.RevokedError
		print := crypto.FingerprintSHA256(key)
		switch {
		case errors.As(err, &revoked):
			return refusal{fmt.Sprintf("its host key %s was revoked (%s:%d)", print, revoked.Revoked.Filename,
				revoked.Revoked.Line)}
		case errors.As(err, &ke) && len(ke.Want) > 0:
			return refusal{fmt.Sprintf("its host key %s is not the known one (%s:%d): it was reinstalled, or somebody "+
				"else is answering; if you trust it, run: ssh-keygen -R %q, then: %s",
				print, ke.Want[0].Filename, ke.Want[0].Line, knownhosts.Normalize(h.knownAs()), h.byHand())}
		case errors.As(err, &ke):
			return refusal{fmt.Sprintf("its host key %s is not known; compare it with the board's own, and accept it with: %s",
				print, h.byHand())}
		}
		return err
	}
	return check, h.algorithms(known), nil
}

func (h host) knownAs() string {
	if h.alias != "" {
		return net.JoinHostPort(h.alias, "22")
	}
	return net.JoinHostPort(h.name, h.port)
}

// byHand is the command that does the same by hand.
func (h host) byHand() string { return "ssh " + h.words() + " true" }

// words name the host for a command of ssh, as the user gave it: by any other name a block of its configuration would
// not hold, which says where keys are and which host key is known.
func (h host) words() string {
	at := h.asked.Host
	if h.asked.User != "" {
		at = h.asked.User + "@" + at
	}
	if h.asked.Port != "" && h.asked.Port != "22" {
		at = "-p " + h.asked.Port + " " + at
	}
	return at
}

// noKey asks which keys are known.
type noKey struct{}

func (noKey) Type() string                           { return "none" }
func (noKey) Marshal() []byte                        { return []byte("none") }
func (noKey) Verify([]byte, *crypto.Signature) error { return errors.New("no key") }

func (h host) algorithms(known crypto.HostKeyCallback) []string {
	var ke *knownhosts.KeyError
	if !errors.As(known(h.knownAs(), &net.TCPAddr{IP: net.IPv4zero}, noKey{}), &ke) {
		return nil
	}
	var out []string
	for _, k := range ke.Want {
		kinds := []string{k.Key.Type()}
		if kinds[0] == crypto.KeyAlgoRSA {
			kinds = []string{crypto.KeyAlgoRSASHA512, crypto.KeyAlgoRSASHA256, crypto.KeyAlgoRSA}
		}
		for _, kind := range kinds {
			if !slices.Contains(out, kind) {
				out = append(out, kind)
			}
		}
	}
	return out
}

// agentWithin is how long an ssh-agent may take to list its keys; files of keys are tried without it.
const agentWithin = handshake / 2

// A keyring is what we can prove to be ourselves with.
type keyring struct {
	signers []crypto.Signer
	tried   []string // in words, for the message when none was accepted
	close   func()
}

// keyring reads the identity files and asks the agent, which may wait for a person, or hang: until ctx ends. What
// cannot be read is noted.
func (h host) keyring(ctx context.Context) keyring {
	k := keyring{close: func() {}}
	wanted := map[string]bool{} // public keys of the files
	for _, f := range h.keys {
		if pub, err := os.ReadFile(f + ".pub"); err == nil {
			if p, _, _, _, err := crypto.ParseAuthorizedKey(pub); err == nil {
				wanted[string(p.Marshal())] = true
			}
		}
		b, err := os.ReadFile(f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		var signer crypto.Signer
		if err == nil {
			signer, err = crypto.ParsePrivateKey(b)
		}
		var locked *crypto.PassphraseMissingError
		switch {
		case errors.As(err, &locked):
			k.tried = append(k.tried, f+" (locked by a passphrase: run ssh-add "+f+")")
		case err != nil:
			k.tried = append(k.tried, fmt.Sprintf("%s (%v)", f, err))
		default:
			k.signers, k.tried = append(k.signers, signer), append(k.tried, f)
		}
	}
	if h.agent == "" {
		return k
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", h.agent)
	if err != nil {
		k.tried = append(k.tried, fmt.Sprintf("the ssh-agent (%v)", err))
		return k
	}
	stop := context.AfterFunc(ctx, func() { c.Close() })
	k.close = func() { stop(); c.Close() }
	late := time.AfterFunc(agentWithin, func() { c.Close() })
	all, err := agent.NewClient(c).Signers()
	late.Stop()
	n := 0
	for _, s := range all {
		if !h.onlyKeys || wanted[string(s.PublicKey().Marshal())] {
			k.signers = append(k.signers, s)
			n++
		}
	}
	k.tried = append(k.tried, fmt.Sprintf("%d keys of the ssh-agent", n))
	if err != nil {
		k.tried = append(k.tried, fmt.Sprintf("the ssh-agent (%v)", err))
	}
	return k
}

func (k keyring) words() string {
	if len(k.tried) == 0 {
		return "there is no key"
	}
	return strings.Join(k.tried, ", ")
}
