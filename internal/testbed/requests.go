package testbed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"edgegauge.example/edgegauge/internal/drive"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/lab"
	"edgegauge.example/edgegauge/internal/measure"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/store"
	"edgegauge.example/edgegauge/internal/study"
)

// patience is how long a service may take to be found there.
const patience = 3 * time.Second

// openRequests makes what is asked of services that are already running, and finds
// what stands in the way of asking it. It connects to them and asks nothing.
func (x *assembly) openRequests(ctx context.Context) {
	x.lab.Requests = map[*study.Setup]drive.Job{}
	found := map[string]study.Error{} // by address: that nothing listens there
	for t := range x.treatments() {
		if t.Setup.URL == "" {
			continue
		}
		job, err := x.job(t.Setup)
		if err != nil {
			x.lack(t, err.Error(), "", "request", "server.url")
			continue
		}
		if err := job.Spec.Check(); err != nil { // Subtle: how many requests there are the session says
			x.fault(t, err.Error(), "", "server.url", "request", "transport", "connection")
			continue
		}
		if most := x.plan.Study.Body; int64(len(job.Body)) > most {
			x.fault(t, fmt.Sprintf("the body of the request takes %d B, above limits.body, %s", len(job.Body),
				study.SizeText(most)), "raise limits: {body: …}, or send less", "request")
			continue
		}
		x.lab.Requests[t.Setup] = job
		x.onlyServers(t)
		if lab.IsAway(t.Setup.Client.Device) { // what a board reaches is not what is reached from here
			continue
		}
		at, _, _ := job.Address()
		of := job.Family + " " + at
		why, asked := found[of]
		if !asked {
			why = answers(ctx, job, at)
			found[of] = why
		}
		switch {
		case why.What == "":
		case why.Here:
			x.lack(t, why.What, why.Advice, "server.url")
		default:
			x.fault(t, why.What, why.Advice, "server.url", "ip")
		}
	}
	x.measuresOnlyServers()
}

// job is what is asked of a service that is already running.
func (x *assembly) job(s *study.Setup) (drive.Job, error) {
	q := s.Request
	job := drive.Job{Body: []byte(q.Body), Status: q.Status, Match: q.Match, Spec: drive.Spec{
		URL: s.URL, Method: q.Method, ContentType: q.ContentType, Accept: q.Accept, Connection: s.Connection,
		Concurrency: s.Concurrency, Timeout: x.plan.Study.Timeouts.Request, QoS: byte(q.QoS), NON: q.Confirmable == "off",
		Topic: q.Topic, ResponseTopic: q.ResponseTopic,
		MostBody: int(min(x.plan.Study.Body, drive.MostBody)), Limit: "limits.body",
		Credentials: drive.Credentials{Insecure: q.Insecure, Identity: q.Identity}}}
	if q.Path != "" {
		job.URL = withPath(s.URL, q.Path)
	}
	switch s.Transport {
	case "http2":
		job.Protocol = drive.HTTP2
	case "http3":
		job.Protocol = drive.HTTP3
	case "grpc":
		job.Protocol = drive.GRPC
	case "mqtt311":
		job.Protocol = drive.MQTT311
	}
	switch s.IP {
	case "ipv4":
		job.Family = "4"
	case "ipv6":
		job.Family = "6"
	}
	var err error
	if q.BodyFile != "" {
		if job.Body, err = kernel.ReadFile(x.beside(q.BodyFile), drive.MostBody); err != nil {
			err = fmt.Errorf("request body_file: %w", err)
			if x.isKept() {
				err = fmt.Errorf("%w; results do not keep it: run this where the file lies, or name it with "+
					"--set request.body_file=PATH", err)
			}
			return job, err
		}
	}
	if job.Method == "" {
		job.Method = "GET"
		if len(job.Body) > 0 || job.Protocol == drive.GRPC {
			job.Method = "POST"
		}
	}
	if q.CA != "" {
		if job.Credentials.PEM, err = kernel.ReadFile(x.beside(q.CA), 16<<20); err != nil {
			return job, fmt.Errorf("request ca: %w", err)
		}
	}
	for _, h := range q.Headers {
		if h, err = x.reveal(h); err != nil {
			return job, err
		}
		job.Header = append(job.Header, h)
	}
	key, err := x.reveal(q.PSK)
	job.Credentials.Key = []byte(key)
	return job, err
}

// withPath is a URL with another path and query.
func withPath(url, path string) string {
	scheme, rest, _ := strings.Cut(url, "://")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest + path
}

// beside is a path as the study means it: from its own folder. Results keep a study without what lies beside it: of one
// that is read there, it is a path from the working directory, unless there is such a file.
func (x *assembly) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	beside := filepath.Join(filepath.Dir(x.plan.Study.File), path)
	if _, err := os.Lstat(beside); err != nil && x.isKept() {
		return path
	}
	return beside
}

// isKept says whether the study is read from the results of an earlier run.
func (x *assembly) isKept() bool { return store.Missing(filepath.Dir(x.plan.Study.File)) == nil }

// reveal puts a secret in the place of the env:NAME or file:PATH that a value ends in.
func (x *assembly) reveal(value string) (string, error) {
	place, ok := study.SecretPlace(value)
	if !ok {
		return value, nil
	}
	secret, err := x.secret(place)
	return strings.TrimSuffix(value, place) + secret, err
}

func (x *assembly) secret(place string) (string, error) {
	var text string
	if name, ok := strings.CutPrefix(place, "env:"); ok {
		if text = os.Getenv(name); text == "" {
			return "", fmt.Errorf("the environment variable %s is not set; set it to the secret that the request sends", name)
		}
	} else {
		b, err := kernel.ReadFile(x.beside(strings.TrimPrefix(place, "file:")), 1<<16)
		if err != nil {
			return "", fmt.Errorf("request: %w", err)
		}
		text = string(b)
	}
	text = strings.TrimRight(text, "\r\n")
	if strings.ContainsAny(text, "\r\n\x00") {
		return "", fmt.Errorf("%s holds more than one line; write one secret in it", place)
	}
	return text, nil
}

// answers says that nothing can be asked at the address to which a client would send, where a URL says at.
func answers(ctx context.Context, job drive.Job, at string) study.Error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	to, err := job.Resolve(ctx)
	if err != nil {
		host, _, _ := net.SplitHostPort(at)
		_, named := netip.ParseAddr(host) // an address can only be one of the other version
		return study.Error{What: err.Error(), Here: named != nil}
	}
	_, tcp, _ := job.Address()
	if err = plain(drive.Listens(ctx, to, tcp)); err == nil {
		return study.Error{}
	}
	if at != to.String() {
		at += fmt.Sprintf(" (%v)", to.Addr())
	}
	return study.Error{What: fmt.Sprintf("nothing listens at %s: %v", at, err), Advice: "start the service, or correct " +
		"the URL", Here: true}
}

// plain is the reason of a network error alone.
func plain(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// onlyServers finds what a treatment asks of a server of which nothing is known.
func (x *assembly) onlyServers(t study.Trial) {
	s := t.Setup
	if m := s.Server.Meter; strings.HasPrefix(m, modelled) || strings.HasPrefix(m, onDevice) {
		x.fault(t, fmt.Sprintf("meter %s needs a program on the server's machine, and the service there is not the lab's", m),
			"name a meter of the supply, such as avr:/dev/ttyUSB0, or remove it", "server.meter")
	}
	if isMachine(x.bed, s.Client.Device) {
		x.fault(t, fmt.Sprintf("device %s is emulated, and can reach only what the lab starts", s.Client.Device),
			"write client: {device: local}, or a board", "client.device", "server.url")
	}
}

// measuresOnlyServers finds responses that only a server of the lab's can give,
// where the study has none.
func (x *assembly) measuresOnlyServers() {
	if _, all := x.allRunning(); !all {
		return
	}
	for _, w := range x.plan.Study.Responses {
		r, ok := measure.FindResponse(w.Text)
		if ok && (!slices.Contains(r.Sides, measure.Client) || slices.Contains(unknown, w.Text)) {
			x.faults = append(x.faults, study.Error{Pos: w.Pos,
				What:   fmt.Sprintf("response %s cannot be measured at a service that is already running", w.Text),
				Advice: "remove it; rtt, total_time, throughput, message_size and response_size are known"})
		}
	}
}

// allRunning says whether all treatments are of services that are already running, and is one of them.
func (x *assembly) allRunning() (t study.Trial, all bool) {
	for t = range x.treatments() {
		if t.Setup.URL == "" {
			return t, false
		}
	}
	return t, true
}

// unknown are responses of the client that only an application has: what a study
// describes is sent as it stands.
var unknown = []string{"serialization", "deserialization"}

// secrets are what a treatment sends of this machine to a service: files and
// variables. A file in the study's own folder came with it.
func (x *assembly) secrets(s *study.Setup) []string {
	if s.Request == nil {
		return nil
	}
	var out []string
	for _, v := range append(slices.Clone(s.Request.Headers), s.Request.PSK) {
		place, ok := study.SecretPlace(v)
		switch name, env := strings.CutPrefix(place, "env:"); {
		case !ok:
		case env:
			out = append(out, "the environment variable "+name)
		default:
			out = append(out, "the file "+strings.TrimPrefix(place, "file:"))
		}
	}
	if f := s.Request.BodyFile; f != "" && !x.within(f) {
		out = append(out, "the file "+f)
	}
	return out
}

// within reports whether a file lies in the study's own folder.
func (x *assembly) within(path string) bool {
	if !filepath.IsLocal(path) {
		return false
	}
	dir, err := filepath.EvalSymlinks(filepath.Dir(x.plan.Study.File))
	if err != nil {
		return false
	}
	real, err := filepath.EvalSymlinks(x.beside(path))
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && filepath.IsLocal(rel)
}

// A serviceFacts is what is known of a service that was already running.
type serviceFacts struct {
	Address string            `json:"address,omitempty"` // to which requests go
	Bodies  map[string]string `json:"bodies,omitempty"`  // SHA-256 of the files that were sent
}

// factsOfServices are those of each URL.
func (x *assembly) factsOfServices(ctx context.Context) (map[string]serviceFacts, error) {
	out := map[string]serviceFacts{}
	for t := range x.treatments() {
		s := t.Setup
		if s.URL == "" {
			continue
		}
		f := out[s.URL]
		if job, err := x.job(s); err == nil && f.Address == "" {
			if at, err := job.Resolve(ctx); err == nil {
				f.Address = at.String()
			}
		}
		if file := s.Request.BodyFile; file != "" {
			sum, err := stack.FileSum(x.beside(file))
			if err != nil {
				return nil, err
			}
			if f.Bodies == nil {
				f.Bodies = map[string]string{}
			}
			f.Bodies[file] = sum
		}
		out[s.URL] = f
	}
	return out, nil
}
