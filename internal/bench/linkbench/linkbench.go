// Package linkbench measures the userspace link against what was asked of it:
// one-way error, round trips over a slow line, throughput, loss.
package linkbench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/link"
	"edgegauge.example/edgegauge/internal/stat"
)

// pair opens a UDP socket at each end.
func pair(n *link.Line) (server, client *net.UDPConn, err error) {
	err = kernel.InNetwork(n.Server, func() (err error) {
		server, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(link.ServerAddress.IPv4, 0)))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	err = kernel.InNetwork(n.Client, func() (err error) {
		client, err = net.DialUDP("udp4", nil, server.LocalAddr().(*net.UDPAddr))
		return err
	})
	if err != nil {
		server.Close()
	}
	return server, client, err
}

// OneWay returns the sorted errors of n datagrams' one-way times, application to
// application, less the delay asked, and the p99 of the link's own record.
func OneWay(ctx context.Context, exe string, delay time.Duration, n int) ([]time.Duration, time.Duration, error) {
	l, err := link.Open(ctx, exe, link.Link{Name: "bench", Up: link.Shape{Delay: delay}})
	if err != nil {
		return nil, 0, err
	}
	defer l.Close()
	server, client, err := pair(l)
	if err != nil {
		return nil, 0, err
	}
	defer server.Close()
	defer client.Close()
	sent := make([]time.Time, n)
	late := make([]time.Duration, 0, n)
	received := make(chan error, 1)
	go func() {
		b := make([]byte, 200)
		for range n {
			server.SetReadDeadline(time.Now().Add(delay + 5*time.Second))
			if _, err := server.Read(b); err != nil {
				received <- err
				return
			}
			i := int(b[0]) | int(b[1])<<8
			late = append(late, time.Since(sent[i])-delay)
		}
		received <- nil
	}()
	b := make([]byte, 100)
	for i := range n {
		b[0], b[1] = byte(i), byte(i>>8)
		sent[i] = time.Now()
		if _, err := client.Write(b); err != nil {
			return nil, 0, err
		}
		time.Sleep(7 * time.Millisecond)
	}
	if err := <-received; err != nil {
		return nil, 0, err
	}
	r, err := l.Report(ctx)
	slices.Sort(late)
	return late, r.Up.Late.P99, err
}

// SlowLine returns the median round trip of 100 B each way at 9600 bit/s and
// what arithmetic says: 128 B of IP packet each way.
func SlowLine(ctx context.Context, exe string, rounds int) (got, want time.Duration, err error) {
	s := link.Shape{Rate: 9600}
	l, err := link.Open(ctx, exe, link.Link{Name: "bench", Up: s, Down: s})
	if err != nil {
		return 0, 0, err
	}
	defer l.Close()
	server, client, err := pair(l)
	if err != nil {
		return 0, 0, err
	}
	defer server.Close()
	defer client.Close()
	go func() {
		b := make([]byte, 200)
		for {
			n, from, err := server.ReadFromUDPAddrPort(b)
			if err != nil {
				return
			}
			server.WriteToUDPAddrPort(b[:n], from)
		}
	}()
	var all []time.Duration
	b := make([]byte, 200)
	for range rounds {
		began := time.Now()
		client.SetDeadline(began.Add(5 * time.Second))
		client.Write(b[:100])
		if _, err := client.Read(b); err != nil {
			return 0, 0, err
		}
		all = append(all, time.Since(began))
	}
	return time.Duration(stat.Middle(all)), 2 * 128 * 8 * time.Second / 9600, nil
}

// Throughput returns the bit/s of a TCP connection's data, client to server.
func Throughput(ctx context.Context, exe string, d time.Duration) (float64, error) {
	l, err := link.Open(ctx, exe, link.Link{Name: "bench"})
	if err != nil {
		return 0, err
	}
	defer l.Close()
	var at net.Listener
	if err := kernel.InNetwork(l.Server, func() (err error) {
		at, err = net.Listen("tcp", net.JoinHostPort(link.ServerAddress.IPv4.String(), "0"))
		return err
	}); err != nil {
		return 0, err
	}
	defer at.Close()
	var c net.Conn
	if err := kernel.InNetwork(l.Client, func() (err error) {
		c, err = net.Dial("tcp", at.Addr().String())
		return err
	}); err != nil {
		return 0, err
	}
	defer c.Close()
	go func() {
		b := make([]byte, 1<<18)
		for c.SetWriteDeadline(time.Now().Add(d)); ; {
			if _, err := c.Write(b); err != nil {
				c.Close()
				return
			}
		}
	}()
	s, err := at.Accept()
	if err != nil {
		return 0, err
	}
	defer s.Close()
	began := time.Now()
	n, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{s}, make([]byte, 1<<18))
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, err
	}
	return float64(n) * 8 / time.Since(began).Seconds(), nil
}

// Loss sends n packets over a line that loses 5 % and returns the share lost
// and the number that went in.
func Loss(ctx context.Context, exe string, n int) (float64, int64, error) {
	l, err := link.Open(ctx, exe, link.Link{Name: "bench", Up: link.Shape{Loss: 0.05}, Seed: 1})
	if err != nil {
		return 0, 0, err
	}
	defer l.Close()
	server, client, err := pair(l)
	if err != nil {
		return 0, 0, err
	}
	defer server.Close()
	defer client.Close()
	for i := range n {
		client.Write([]byte{1})
		if i%128 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	time.Sleep(100 * time.Millisecond)
	r, err := l.Report(ctx)
	if fault := l.Link.Fault(r); err == nil && r.Up.In < int64(n) {
		err = fmt.Errorf("sent %d packets, but the link saw %d: %s", n, r.Up.In, fault)
	}
	return float64(r.Up.Lost) / float64(r.Up.In), r.Up.In, err
}
