package dpws

import (
	"errors"
	"strconv"
	"strings"

	"edgegauge.example/edgegauge/internal/service/xmlstream"
)

// A message is a datagram of WS-Discovery.
type message struct {
	header  Header
	wanted  Wanted   // Probe
	targets []Target // of matches, Hello and Bye; Resolve: one with its EPR alone
}

var (
	errAction  = errors.New("action and body do not match")
	errTargets = errors.New("more than 16 matches in one message")
	errNoID    = errors.New("no message ID")
)

const maxTargets = 16

// bodies are the elements that go with the actions, and their children that
// hold a target, where it is not the element itself.
var bodies = map[string][2]string{
	actionHello: {"Hello"}, actionBye: {"Bye"}, actionProbe: {"Probe"}, actionResolve: {"Resolve"},
	actionProbeMatches: {"ProbeMatches", "ProbeMatch"}, actionResolveMatches: {"ResolveMatches", "ResolveMatch"},
}

func (m *message) decode(b []byte) error {
	m.targets, m.wanted = nil, Wanted{}
	found := ""
	err := open(b, &m.header, func(r *reader, n xmlstream.Name) {
		if string(n.Space) != wsdSpace {
			return
		}
		found = string(n.Local)
		switch found {
		case "Probe":
			m.wanted.read(r)
		case "ProbeMatches", "ResolveMatches":
			child := strings.TrimSuffix(found, "es")
			r.each(func(n xmlstream.Name) {
				if n.Is(wsdSpace, child) {
					m.target(r)
				}
			})
		default:
			m.target(r)
		}
	})
	switch {
	case err != nil:
		return err
	case found == "" || bodies[string(m.header.Action)][0] != found:
		return errAction
	case len(m.header.MessageID) == 0:
		return errNoID
	}
	return nil
}

func (m *message) target(r *reader) {
	if len(m.targets) == maxTargets {
		r.fail(errTargets)
		return
	}
	var t Target
	r.each(func(n xmlstream.Name) { t.field(r, n) })
	m.targets = append(m.targets, t)
}

// A writer makes discovery messages; the AppSequence orders a device's.
type writer struct {
	namer            *Namer
	instance, number uint64
}

const discoverySpaces = ` xmlns:wsd="` + wsdSpace + `" xmlns:dpws="` + dpwsSpace + `"`

// start begins a message; it returns its ID too.
func (w *writer) start(action, to string, relatesTo []byte, sequenced bool) (b, id []byte) {
	id = w.namer.Append(nil)
	h := Header{Action: []byte(action), To: []byte(to), MessageID: id, RelatesTo: relatesTo}
	blocks := ""
	if sequenced {
		w.number++
		blocks = `<wsd:AppSequence InstanceId="` + strconv.FormatUint(w.instance, 10) + `" MessageNumber="` +
			strconv.FormatUint(w.number, 10) + `"/>`
	}
	return h.appendStart(nil, discoverySpaces, blocks), id
}

// announce makes a Hello or Bye.
func (w *writer) announce(action string, t *Target) []byte {
	b, _ := w.start(action, toDiscovery, nil, true)
	name := "wsd:" + bodies[action][0]
	b = t.appendTo(append(append(append(b, '<'), name...), '>'))
	return append(b, "</"+name+">"+End...)
}

// match makes ProbeMatches or ResolveMatches.
func (w *writer) match(action string, relatesTo []byte, t *Target) []byte {
	b, _ := w.start(action, Anonymous, relatesTo, true)
	names := bodies[action]
	b = append(b, "<wsd:"+names[0]+"><wsd:"+names[1]+">"...)
	return append(t.appendTo(b), "</wsd:"+names[1]+"></wsd:"+names[0]+">"+End...)
}

func (w *writer) probe(want *Wanted) (b, id []byte) {
	b, id = w.start(actionProbe, toDiscovery, nil, false)
	b = append(b, "<wsd:Probe>"...)
	b = appendTypes(b, "wsd", want.Types)
	if len(want.Scopes) > 0 {
		b = append(b, "<wsd:Scopes"...)
		if want.Rule != "" {
			b = append(xmlstream.AppendValue(append(b, ` MatchBy="`...), []byte(want.Rule)), '"')
		}
		b = append(xmlstream.AppendText(append(b, '>'), []byte(strings.Join(want.Scopes, " "))), "</wsd:Scopes>"...)
	}
	return append(b, "</wsd:Probe>"+End...), id
}

func (w *writer) resolve(epr string) (b, id []byte) {
	b, id = w.start(actionResolve, toDiscovery, nil, false)
	b = append(b, "<wsd:Resolve><wsa:EndpointReference>"...)
	b = element(b, "wsa:Address", []byte(epr))
	return append(b, "</wsa:EndpointReference></wsd:Resolve>"+End...), id
}
