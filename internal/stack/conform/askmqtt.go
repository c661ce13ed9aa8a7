package conform

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"strings"
	"syscall"
	"time"

	"edgegauge.example/edgegauge/internal/protocol/mqtt"
	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// askMQTT asks the responder behind a broker. MQTT 3.1.1 has no way to name a
// media type, so there every request is asked as one that names none.
func (c suite) askMQTT() (asker, error) {
	var config *tls.Config
	if c.wish.Security == "tls" {
		roots, err := c.roots()
		if err != nil {
			return nil, err
		}
		config = &tls.Config{RootCAs: roots, ServerName: "127.0.0.1"}
	}
	version := mqtt.V5
	if c.wish.Transport == "mqtt311" {
		version = mqtt.V311
	}
	return func(ctx context.Context, at string, _ codec.Encoding, _ service.Name, b badRequest) (reply, error) {
		if b.contentType != "" && version == mqtt.V311 {
			return reply{refused: true}, nil
		}
		u, err := url.Parse(at)
		if err != nil {
			return reply{}, err
		}
		conn, err := net.Dial("tcp", u.Host)
		if err != nil {
			return reply{}, err
		}
		if config != nil {
			conn = tls.Client(conn, config)
		}
		defer conn.Close()
		ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
		defer cancel()
		answer, err := askBroker(ctx, conn, version, strings.Trim(u.Path, "/"), b)
		if err != nil {
			if len(b.body) > bodyLimit && ctx.Err() == nil && tooLarge(err) {
				return reply{status: err.Error(), refused: true}, nil
			}
			return reply{}, err
		}
		failed := answer.Failure != nil || strings.Contains(string(answer.Topic), "/error/")
		return reply{status: fmt.Sprintf("%.100s%.100s", answer.Topic, answer.Failure), answered: !failed, refused: failed,
			body: answer.Payload}, nil
	}, nil
}

func askBroker(ctx context.Context, conn net.Conn, v mqtt.Version, name string, b badRequest) (*mqtt.Message, error) {
	id := fmt.Sprintf("k%016x", rand.Uint64())
	m := &mqtt.Message{Topic: []byte(name + "/request"), Payload: b.body}
	filters := []string{name + "/response/" + id}
	if v == mqtt.V5 {
		m.ResponseTopic = []byte(filters[0])
		if b.contentType != "" {
			m.ContentType = []byte(b.contentType)
		}
	} else {
		m.Topic = []byte(name + "/request/" + id)
		filters = append(filters, name+"/error/"+id)
	}
	client, err := mqtt.NewClient(ctx, conn, mqtt.NewSession(mqtt.Params{Version: v, ClientID: id, Filters: filters}))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	return client.Ask(ctx, m)
}

// tooLarge: the broker has said so, or closed rather than read on.
func tooLarge(err error) bool {
	var refusal *mqtt.Refusal
	return errors.As(err, &refusal) || errors.Is(err, mqtt.ErrTooLarge) || errors.Is(err, io.EOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
