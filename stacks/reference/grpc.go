package reference

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
)

// grpcService is the service of stacks/contract/grpc.proto.
const grpcService = "/edgegauge.Lab/"

// Status codes of gRPC.
const (
	grpcInvalidArgument   = 3
	grpcResourceExhausted = 8
	grpcUnimplemented     = 12
	grpcInternal          = 13
)

const grpcPrefix = 5 // B before a message: compressed flag, length

// grpc answers a unary call (gRPC over HTTP/2). Timeouts that the caller sends
// are not kept: the lab has its own.
func (h *httpServer) grpc(w http.ResponseWriter, r *http.Request) {
	h.underway.Add(1)
	defer h.underway.Add(-1)
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), "+")
	if r.Method != http.MethodPost || r.ProtoMajor != 2 || kind != "application/grpc" {
		http.Error(w, "send application/grpc by POST over HTTP/2", http.StatusUnsupportedMediaType)
		return
	}
	x := h.pool.Get().(*worker)
	defer h.pool.Put(x)
	code, err := h.unary(x, r)
	head := w.Header()
	head.Set("Content-Type", "application/grpc+proto")
	if err == nil {
		x.frame = binary.BigEndian.AppendUint32(append(x.frame[:0], 0), uint32(len(x.answer)))
		w.Write(x.frame)
		w.Write(x.answer)
	} else {
		head.Set(http.TrailerPrefix+"Grpc-Message", url.PathEscape(err.Error()))
	}
	head.Set(http.TrailerPrefix+"Grpc-Status", fmt.Sprint(code))
	if err == nil {
		h.keep(x)
	}
}

// unary reads one message and works it; code is gRPC's, 0 without an error.
func (h *httpServer) unary(x *worker, r *http.Request) (code int, err error) {
	limit := h.limit
	if limit > 0 {
		limit += grpcPrefix
	}
	if x.frame, err = readAll(x.frame[:0], r, limit); errors.Is(err, errTooLarge) {
		return grpcResourceExhausted, err
	} else if err != nil {
		return grpcInternal, err
	}
	switch b := x.frame; {
	case len(b) < grpcPrefix, int64(binary.BigEndian.Uint32(b[1:])) != int64(len(b)-grpcPrefix):
		return grpcInternal, errors.New("the request is not one gRPC message")
	case b[0] != 0:
		return grpcUnimplemented, errors.New("compressed messages are not supported")
	}
	x.body = append(x.body[:0], x.frame[grpcPrefix:]...)
	if err = h.work(x); errors.Is(err, errService) {
		return grpcInternal, err
	} else if err != nil {
		return grpcInvalidArgument, err
	}
	return 0, nil
}
