package reference

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/protocol/dpws"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
)

// beside is a network namespace of the test's own, and SDCri to run in it.
func beside(t *testing.T) (*os.File, stack.Description) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs the stack dpws-sdcri")
	}
	ns, _, err := twoNamespaces()
	if err != nil {
		lacking(t, fmt.Errorf("two network namespaces: %w; run as root", err))
	}
	sdcri, err := stack.Read("../dpws-sdcri")
	if err == nil && !sdcri.Built() {
		err = errors.New("stacks/dpws-sdcri is not built; run: edgegauge stacks build dpws-sdcri")
	}
	if err != nil {
		lacking(t, err)
	}
	return ns, sdcri
}

// Either device notifies either subscriber: subscribe, notify, renew, status, unsubscribe.
func TestDPWSEvents(t *testing.T) {
	ns, sdcri := beside(t)
	on := map[string]string{"events": "on"}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cl := start(t, sdcri, "dpws-sdcri", "call", ns) // of both devices, one after the other: it takes seconds to start
	for _, device := range []string{"reference/dpws", "dpws-sdcri"} {
		srv := start(t, sdcri, device, "serve", ns)
		served, err := srv.Serve(ctx, stack.Serve{Service: "echo", Encoding: "soap12", Transport: "dpws", Security: "none",
			Host: "127.0.0.1", Options: on, Limits: stack.Limits{Body: 1 << 20}})
		if err != nil {
			t.Fatal(err)
		}
		t.Run("ours resolves "+device, func(t *testing.T) { resolves(t, ctx, served.URL, ns) })
		t.Run("ours hears "+device, func(t *testing.T) { hears(t, ctx, served.URL, ns) })
		t.Run("dpws-sdcri hears "+device, func(t *testing.T) {
			if _, err := cl.Call(ctx, stack.Call{URL: served.URL, Service: "echo", Encoding: "soap12", Transport: "dpws",
				Security: "none", Message: stack.Message{Seed: 1, N: 3},
				Connection: "keep-alive", Timeout: int64(20 * time.Second), Options: on}); err != nil {
				t.Fatal(err)
			}
			if _, err := cl.Run(ctx, stack.Run{Requests: 5, Record: true}, func(x measure.Exchange) {
				if x.Failure != "" {
					t.Errorf("request %d: %s", x.Seq, x.Failure)
				}
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// resolves asks where the device is that the URL names.
func resolves(t *testing.T, ctx context.Context, url string, ns *os.File) {
	url, epr, _ := strings.Cut(url, "#")
	var network dpws.Network
	if err := within(ns, func() error {
		lo, err := net.InterfaceByName("lo")
		if err == nil {
			network, err = dpws.Join(lo, false)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	f := dpws.NewFinder(network, dpws.DPWS())
	defer f.Close()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	host := strings.Split(url, "/")[2]
	target, err := f.Resolve(ctx, epr)
	if err != nil || target.EPR != epr || !strings.Contains(strings.Join(target.XAddrs, " "), host) {
		t.Errorf("got %+v, %v; want an address at %s", target, err, host)
	}
}

// hears subscribes at the service, asks it, and hears of it.
func hears(t *testing.T, ctx context.Context, url string, ns *os.File) {
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, network,
		address string) (c net.Conn, err error) {
		err = errors.Join(within(ns, func() error {
			c, err = new(net.Dialer).DialContext(ctx, network,
				address)
			return nil
		}), err)
		return c, err
	}}}
	defer client.CloseIdleConnections()
	url, _, _ = strings.Cut("http"+strings.TrimPrefix(url, "dpws"), "#")
	var l net.Listener
	var err error
	if e := within(ns, func() error { l, err = net.Listen("tcp", "127.0.0.1:0"); return err }); e != nil {
		t.Fatal(err)
	}
	events := make(chan string, 100)
	sink := &http.Server{Handler: dpws.Sink(func(action string, envelope []byte) {
		events <- action + " " +
			"" + string(envelope)
	})}
	go sink.Serve(l)
	defer sink.Close()
	action := codec.Action("echo") + "Event"
	sub, err := dpws.Subscribe(ctx, client, url, "http://"+l.Addr().String()+"/sink", []string{action}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if sub.Expires <= 0 || sub.Expires > time.Minute {
		t.Errorf("granted %v", sub.Expires)
	}
	if err := sub.Renew(ctx, 2*time.Minute); err != nil || sub.Expires < time.Minute {
		t.Errorf("renewed for %v, %v", sub.Expires, err)
	}
	if err := sub.Status(ctx); err != nil || sub.Expires < time.Minute {
		t.Errorf("%v left, %v", sub.Expires, err)
	}
	ask := func(text string) {
		m := service.Message{Text: []byte(text)}
		h := dpws.Header{Action: []byte(codec.Action("echo")), To: []byte(url), MessageID: []byte(dpws.NewUUID()),
			ReplyTo: []byte(dpws.Anonymous)}
		b := append(codec.Append(codec.XML, h.AppendStart(nil), "echo", false, &m), dpws.End...)
		if err := dpws.Post(ctx, client, url, b, &dpws.Header{}, nil); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		text := fmt.Sprintf("event%d", i)
		ask(text)
		select {
		case e := <-events:
			if !strings.HasPrefix(e, action) || !strings.Contains(e, ">"+text+"<") {
				t.Errorf("heard %s, want one with %s", e, text)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("no event of %s came", text)
		}
	}
	if err := sub.Unsubscribe(ctx); err != nil {
		t.Error(err)
	}
	ask("unheard")
	if err := sub.Status(ctx); err == nil {
		t.Error("a subscription that was ended has a status")
	}
	select {
	case e := <-events:
		t.Errorf("heard %s after the end", e)
	case <-time.After(200 * time.Millisecond):
	}
}
