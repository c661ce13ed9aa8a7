package ssh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	crypto "golang.org/x/crypto/ssh"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A connection is an SSH client, through jump hosts or not.
type connection struct {
	*crypto.Client
	closers []func() error // the last first
	direct  bool           // no jump host between
}

func (c *connection) Close() error {
	err := c.Client.Close()
	for _, f := range c.closers {
		f()
	}
	return err
}

// handshake is how long a machine may take to connect and to let us in.
const handshake = 20 * time.Second

// dial connects to t as ~/.ssh/config says.
func dial(ctx context.Context, t Target) (*connection, error) {
	h, err := lookup(t)
	if err != nil {
		return nil, refusal{err.Error()}
	}
	c := &connection{direct: len(h.jump) == 0}
	var through *crypto.Client
	for _, j := range h.jump {
		via, err := ParseTarget(Scheme + strings.TrimPrefix(strings.TrimSpace(j), Scheme))
		if err != nil {
			return nil, refusal{"ProxyJump: " + err.Error()}
		}
		jump, err := lookup(via)
		if err == nil {
			through, err = jump.connect(ctx, through)
		}
		if err != nil {
			c.closeAll()
			return nil, fmt.Errorf("jump host %s: %w", j, err)
		}
		c.closers = append([]func() error{through.Close}, c.closers...)
	}
	if c.Client, err = h.connect(ctx, through); err != nil {
		c.closeAll()
		return nil, err
	}
	return c, nil
}

func (c *connection) closeAll() {
	for _, f := range c.closers {
		f()
	}
}

// connect connects to h, through another machine unless that is nil.
func (h host) connect(ctx context.Context, through *crypto.Client) (*crypto.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	address := net.JoinHostPort(h.name, h.port)
	var raw net.Conn
	var err error
	if through == nil {
		raw, err = kernel.Dial(ctx, "tcp", address)
	} else {
		raw, err = through.DialContext(ctx, "tcp", address)
	}
	if err != nil {
		var unknown *net.DNSError
		if errors.As(err, &unknown) && unknown.IsNotFound {
			return nil, fmt.Errorf("no host is called %s; check the name, and whether this works: %s", h.name, h.byHand())
		}
		return nil, fmt.Errorf("%w; is it on, and does this work: %s", err, h.byHand())
	}
	check, algorithms, err := h.checkKey()
	if err != nil {
		raw.Close()
		return nil, err
	}
	keys := h.keyring(ctx)
	defer keys.close()
	stop := context.AfterFunc(ctx, func() { raw.Close() })
	defer stop()
	conn, channels, requests, err := crypto.NewClientConn(raw, address, &crypto.ClientConfig{
		User: h.user, HostKeyCallback: check, HostKeyAlgorithms: algorithms,
		Auth: []crypto.AuthMethod{crypto.PublicKeys(keys.signers...)},
	})
	if err != nil {
		raw.Close()
		return nil, h.explain(ctx, keys, err)
	}
	return crypto.NewClient(conn, channels, requests), nil
}

func (h host) explain(ctx context.Context, keys keyring, err error) error {
	var r refusal
	switch {
	case errors.As(err, &r):
		return r
	case ctx.Err() != nil:
		return fmt.Errorf("login did not finish within %v, with %s: %w", handshake, keys.words(), err)
	case strings.Contains(err.Error(), "unable to authenticate"):
		return refusal{fmt.Sprintf("%s@%s accepted none of our keys (%s); run: ssh-copy-id %s", h.user, h.name,
			keys.words(), h.words())}
	}
	return err
}
