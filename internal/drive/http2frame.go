package drive

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/net/http2/hpack"
)

// take is one frame (RFC 9113, section 6). Frames of streams that are over and
// of unknown types are passed over, but header blocks must be read for the
// sake of the decoder's table.
func (w *http2Conn) take(kind, flags byte, stream uint32, b []byte) error {
	if (w.headersOf != 0) != (kind == frameContinuation) || kind == frameContinuation && stream != w.headersOf {
		return errors.New("an incomplete header block")
	}
	switch kind {
	case frameData:
		return w.data(flags, stream, b)
	case frameHeaders:
		b, err := unpad(b, flags&flagPadded != 0, flags&flagPriority != 0)
		if err != nil {
			return err
		}
		w.headers, w.headersOf, w.headersEnd = w.headers[:0], stream, flags&flagEndStream != 0
		return w.headerPart(flags, b)
	case frameContinuation:
		return w.headerPart(flags, b)
	case frameReset:
		if len(b) != 4 {
			return errors.New("a reset whose length is not 4")
		}
		if stream == w.last && !w.stream.whole {
			return w.stream.reset(binary.BigEndian.Uint32(b))
		}
	case frameSettings:
		return w.settings(flags, b)
	case framePush:
		return errors.New("a push, although disabled")
	case framePing:
		if len(b) != 8 {
			return errors.New("a ping whose length is not 8")
		}
		if flags&flagAck == 0 {
			w.out = append(appendFrame(w.out, 8, framePing, flagAck, 0), b...)
		}
	case frameGoAway:
		if len(b) < 8 {
			return errors.New("a GOAWAY shorter than 8 bytes")
		}
		w.goingAway, w.blamed = true, binary.BigEndian.Uint32(b[4:])
		if binary.BigEndian.Uint32(b)&http2Most < w.last && !w.stream.whole {
			return untaken(w.blamed)
		}
	case frameWindow:
		return w.opened(stream, b)
	}
	return nil
}

// reset is why the server ended a stream.
func (s *http2Stream) reset(code uint32) error {
	if code == resetRefused && s.status == 0 {
		return errRefused
	}
	return fmt.Errorf("%w by the server with %s", errReset, codeText(code))
}

// data takes a piece of the response's body. Padding counts for the window.
func (w *http2Conn) data(flags byte, stream uint32, b []byte) error {
	if w.taken += int64(len(b)); w.taken >= http2Refill {
		w.out = binary.BigEndian.AppendUint32(appendFrame(w.out, 4, frameWindow, 0, 0), uint32(w.taken))
		w.taken = 0
	}
	b, err := unpad(b, flags&flagPadded != 0, false)
	if err != nil || stream != w.last || w.stream.whole {
		return err
	}
	if w.stream.status < 200 {
		return errors.New("data before a response's header")
	}
	most := w.most
	if w.grpc { // what is before a message is none of it
		most += grpcPrefix
	}
	if len(w.stream.body)+len(b) > most {
		return tooLarge(w.most)
	}
	w.stream.body = append(w.stream.body, b...)
	if flags&flagEndStream == 0 {
		return nil
	}
	return w.end()
}

// end is that of the response. A proxy whose backend breaks off ends a stream in mid-body.
func (w *http2Conn) end() error {
	s := &w.stream
	bare := s.status == 304 || w.fields[0].Value == "HEAD" // what the length is of is not sent
	if s.sized && !bare && s.size != uint64(len(s.body)) {
		return fmt.Errorf("%w: %d bytes instead of %d", errLength, len(s.body), s.size)
	}
	s.whole = true
	return nil
}

func unpad(b []byte, padded, priority bool) ([]byte, error) {
	pad := 0
	if padded {
		if len(b) == 0 {
			return nil, errPadding
		}
		pad, b = int(b[0]), b[1:]
	}
	if priority {
		if len(b) < 5 {
			return nil, errPadding
		}
		b = b[5:]
	}
	if pad > len(b) {
		return nil, errPadding
	}
	return b[:len(b)-pad], nil
}

func (w *http2Conn) headerPart(flags byte, b []byte) error {
	if len(w.headers)+len(b) > mostHead {
		return errHead
	}
	w.headers = append(w.headers, b...)
	if flags&flagEndHeaders == 0 {
		return nil
	}
	stream := w.headersOf
	_, err := w.decoder.Write(w.headers)
	if err == nil {
		err = w.decoder.Close()
	}
	w.headersOf = 0
	if err != nil {
		return err
	}
	if stream == w.last && w.headersEnd {
		if w.stream.status < 200 {
			return errors.New("a response without a status")
		}
		return w.end()
	}
	return nil
}

// field is one header field of the block under way.
func (w *http2Conn) field(f hpack.HeaderField) {
	if w.headersOf != w.last || w.stream.whole {
		return
	}
	switch f.Name {
	case ":status":
		w.stream.status, _ = strconv.Atoi(f.Value)
		w.stream.sized = false // that of an interim response is of no use
	case "content-length":
		size, err := strconv.ParseUint(f.Value, 10, 63)
		w.stream.size, w.stream.sized = size, err == nil
	case "grpc-status":
		w.stream.grpcStatus = f.Value
	case "grpc-message":
		w.stream.grpcMessage = f.Value
	}
}

// settings takes the peer's and acknowledges them.
func (w *http2Conn) settings(flags byte, b []byte) error {
	if flags&flagAck != 0 {
		return nil
	}
	w.settled = true
	if len(b)%6 != 0 {
		return errors.New("settings whose length is not a multiple of 6")
	}
	for ; len(b) > 0; b = b[6:] {
		value := int64(binary.BigEndian.Uint32(b[2:]))
		switch binary.BigEndian.Uint16(b) {
		case settingTable:
			w.encoder.SetMaxDynamicTableSizeLimit(uint32(value))
		case settingWindow:
			if value > http2Most {
				return errors.New("a window over 2^31-1")
			}
			// It holds for the stream under way too, whose window may become
			// negative (RFC 9113, section 6.9.2).
			w.stream.window += value - w.perStream
			w.perStream = value
		case settingFrame:
			if value < http2Frame || value > 1<<24-1 {
				return errors.New("a maximum frame size out of range")
			}
			w.frame = int(value)
		}
	}
	w.out = appendFrame(w.out, 0, frameSettings, flagAck, 0)
	w.fill()
	return nil
}

// opened: the peer takes more.
func (w *http2Conn) opened(stream uint32, b []byte) error {
	if len(b) != 4 {
		return errors.New("a window update whose length is not 4")
	}
	n := int64(binary.BigEndian.Uint32(b) & http2Most)
	switch {
	case stream == 0:
		w.window += n
	case stream == w.last:
		w.stream.window += n
	default:
		return nil
	}
	if w.window > http2Most || w.stream.window > http2Most {
		return errors.New("a window over 2^31-1")
	}
	w.fill()
	return nil
}
