package drive

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/mqtt"
)

const (
	// sessionsEnd is how long the end of all sessions may take.
	sessionsEnd = time.Second
	atOnceEnded = 16
)

// endSessions ends what sessions of QoS 1 and 2 have left at a broker that is none of the lab's, which ends with its
// trial. There they would stay, with MQTT 3.1.1 for ever, and the broker would keep for each of them what later trials
// are answered on the same topic. The way that both versions have is to begin a new session of that name and to leave.
func (d *Driver) endSessions() {
	version, left := mqtt.V5, []string(nil)
	for _, l := range d.lanes {
		if w, ok := l.stream.(*mqttConn); ok && w.t.Topic != "" {
			w.leave()
			version, left = w.version, append(left, w.left...)
			w.left = nil
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), min(sessionsEnd, d.Timeout))
	defer cancel()
	var all sync.WaitGroup
	ids := make(chan string, len(left))
	for _, id := range left {
		ids <- id
	}
	close(ids)
	for range min(atOnceEnded, len(left)) {
		all.Go(func() {
			for id := range ids {
				if d.endSession(ctx, version, id) != nil {
					return // the broker is gone, or slow
				}
			}
		})
	}
	all.Wait()
}

func (d *Driver) endSession(ctx context.Context, v mqtt.Version, id string) error {
	var c net.Conn
	var err error
	if d.secret != nil {
		c, err = (&tls.Dialer{Config: d.secret.tls}).DialContext(ctx, "tcp", d.addr.String())
	} else {
		c, err = new(net.Dialer).DialContext(ctx, "tcp", d.addr.String())
	}
	if err != nil {
		return err
	}
	m, err := mqtt.NewClient(ctx, c, mqtt.NewSession(mqtt.Params{Version: v, ClientID: id}))
	if err != nil {
		c.Close()
		return err
	}
	return m.Close()
}
