package drive

import (
	base16 "encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/printable"
)

func (w *http2Conn) fault() error { return w.stream.fault(w.grpc, w.secrets) }

// fault says which gRPC status it is that reply shows as a 500, and what the server says of it.
func (s *http2Stream) fault(grpc bool, secrets []string) error {
	if !grpc || s.status != 200 {
		return nil
	}
	switch code, err := strconv.ParseUint(s.grpcStatus, 10, 32); {
	case s.grpcStatus == "":
		return errors.New("the response has no gRPC status: the server may not speak gRPC")
	case err != nil:
		return errors.New("the response has a gRPC status that is no number")
	case code == 0:
		return errors.New(string(errGRPC))
	case code < uint64(len(grpcCodes)):
		return fmt.Errorf("gRPC status %d (%s)%s", code, grpcCodes[code], grpcWords(s.grpcMessage, secrets))
	default:
		return fmt.Errorf("gRPC status %d%s", code, grpcWords(s.grpcMessage, secrets))
	}
}

// longestMessage is what is repeated of a grpc-message, in characters.
const longestMessage = 100

// grpcWords are those of a grpc-message, behind a colon. It is percent-encoded; what is no encoding stands for itself.
// One that repeats a secret of the request is left out.
func grpcWords(message string, secrets []string) string {
	var b strings.Builder
	for i := 0; i < len(message); i++ {
		if message[i] == '%' && i+3 <= len(message) {
			if c, err := base16.DecodeString(message[i+1 : i+3]); err == nil {
				b.Write(c)
				i += 2
				continue
			}
		}
		b.WriteByte(message[i])
	}
	text := strings.TrimSpace(b.String())
	if text == "" || slices.ContainsFunc(secrets, func(s string) bool { return strings.Contains(text, s) }) {
		return ""
	}
	if all := []rune(text); len(all) > longestMessage {
		text = string(all[:longestMessage]) + "…"
	}
	return ": " + printable.Line(text)
}

// secretsOf are the words of a request's headers that may be secrets. No failure repeats them.
func secretsOf(header []string) (all []string) {
	for _, line := range header {
		_, value, _ := strings.Cut(line, ":")
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t,;=\"", r) }) {
			if len(word) >= shortestSecret {
				all = append(all, word)
			}
		}
	}
	return all
}

// shortestSecret is from how many bytes on a word of a header may be one.
const shortestSecret = 6

// grpcCodes are the names of gRPC's status codes.
var grpcCodes = [...]string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
	"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
	"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
