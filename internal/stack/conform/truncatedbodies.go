package conform

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
)

// A truncatedBody is a request over HTTP/1.1 whose body is not what its head announces.
type truncatedBody struct {
	what, head string
	body       []byte
}

func truncatedBodies(good []byte) []truncatedBody {
	half := good[:len(good)/2]
	size := fmt.Sprintf("%x\r\n", len(good))
	long := bytes.Repeat(append([]byte("10000\r\n"), append(bytes.Repeat([]byte{' '}, 0x10000), "\r\n"...)...),
		(bodyLimit+bodyLimit/4)/0x10000)
	tooLong := truncatedBody{"a body larger than the limit without a length", "Transfer-Encoding: chunked",
		slices.Concat(long, []byte(size), good, []byte("\r\n0\r\n\r\n"))}
	if len(good) == 0 { // nothing can be cut off
		tooLong.body = append(long, "0\r\n\r\n"...)
		return []truncatedBody{tooLong}
	}
	return []truncatedBody{
		{"a body shorter than announced", fmt.Sprintf("Content-Length: %d", len(good)), half},
		{"a body that ends within a chunk", "Transfer-Encoding: chunked", append([]byte(size), half...)},
		tooLong,
	}
}

// cuttable tells whether refusesTruncated can ask this server: only plain HTTP/1.1 is
// spoken so, in an encoding of ours.
func (c suite) cuttable() bool {
	_, err := codec.Parse(c.wish.Encoding)
	return err == nil && !c.fixedSizes() && c.wish.Transport == "http" && c.wish.Security == "none"
}

// refusesTruncated sends bodies that end too soon or never seem to end; after each a
// good request must be answered rightly.
func (c suite) refusesTruncated(name, at string) error {
	enc := codec.Encoding(c.wish.Encoding)
	ask, err := c.askHTTP(oneEach())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(c.ctx, 2*time.Minute)
	defer cancel()
	var m service.Message
	service.Make(service.Name(name), messageSeed, 64, service.Width{}, &m)
	right, err := service.NewChecker(service.Name(name), &m)
	if err != nil {
		return err
	}
	good := codec.Append(enc, nil, service.Name(name), false, &m)
	for _, x := range truncatedBodies(good) {
		if err := x.send(at, enc, service.Name(name)); err != nil {
			return fmt.Errorf("%s: %w", x.what, err)
		}
		r, err := ask(ctx, at, enc, service.Name(name), badRequest{body: good})
		if err == nil {
			err = r.right(enc, service.Name(name), right)
		}
		if err != nil {
			return fmt.Errorf("a valid request after %s was answered with %s: %w", x.what, r.status, err)
		}
	}
	return nil
}

// send returns nil if the request was refused: by a status, or by an end of the
// connection, since there may be nobody left to tell.
func (x truncatedBody) send(at string, enc codec.Encoding, name service.Name) error {
	u, err := url.Parse(at)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", u.Host, 10*time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(20 * time.Second))
	action := enc.SOAPAction(name)
	if action != "" {
		action = "SOAPAction: " + action + "\r\n"
	}
	fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: %s\r\n%s%s\r\n\r\n", u.RequestURI(), u.Host,
		enc.MediaType(name, false), action, x.head)
	conn.Write(x.body) // a server that has seen enough may close before the end
	conn.(*net.TCPConn).CloseWrite()
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return errors.New("no answer, and the connection stayed open")
		}
		return nil
	}
	defer resp.Body.Close()
	if r := httpReply(enc, name, resp); !r.refused && (r.answered || !r.broken) {
		return fmt.Errorf("it answered %s", r.status)
	}
	return nil
}
