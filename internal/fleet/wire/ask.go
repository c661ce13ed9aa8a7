package wire

import (
	"context"
	"encoding/json"

	"github.com/nats-io/nats.go"

	"edgegauge.example/edgegauge/internal/fleet"
	"edgegauge.example/edgegauge/internal/fleet/admit"
)

// mostAsked is how many questions may wait for a bench's answer to one.
const mostAsked = 16

// Ask asks a bench whether it can measure a study, until ctx ends.
func (b *Board) Ask(ctx context.Context, bench string, q fleet.Question) (fleet.Reply, error) {
	answers, err := b.nc.SubscribeSync(admit.JoinSubject(admit.Asker, bench))
	if err != nil {
		return fleet.Reply{}, err
	}
	defer answers.Unsubscribe()
	ask := nats.NewMsg(admit.JoinSubject(bench, admit.Asker))
	if ask.Data, err = json.Marshal(q); err != nil {
		return fleet.Reply{}, err
	}
	id := fleet.NewID()
	ask.Header.Set(taskHeader, id)
	if err := b.nc.PublishMsg(ask); err != nil {
		return fleet.Reply{}, err
	}
	for {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			return fleet.Reply{}, err
		}
		if r, ok := replyOf(m); ok && m.Header.Get(taskHeader) == id {
			return r, nil
		}
	}
}

// replyOf is what a bench replies; false: nobody understands it.
func replyOf(m *nats.Msg) (r fleet.Reply, ok bool) {
	err := json.Unmarshal(m.Data, &r)
	return r, err == nil
}

// questionOf is what a bench is asked; false: nobody understands it.
func questionOf(m *nats.Msg) (q fleet.Question, ok bool) {
	err := json.Unmarshal(m.Data, &q)
	return q, err == nil
}

// Answer has able answer what the bench is asked, one question after the other, until the connection ends. The hub
// vouches for it that a coordinator asks.
func (b *Bench) Answer(able func(context.Context, fleet.Question) fleet.Reply) error {
	asked, err := b.nc.Subscribe(admit.JoinSubject(b.name, admit.Asker), func(m *nats.Msg) {
		q, ok := questionOf(m)
		if !ok {
			return
		}
		answer := nats.NewMsg(admit.JoinSubject(admit.Asker, b.name))
		answer.Header.Set(taskHeader, m.Header.Get(taskHeader))
		text, err := json.Marshal(able(b.ctx, q))
		if answer.Data = text; err == nil {
			b.nc.PublishMsg(answer) // where it is lost, who asked waits no longer than it wants to
		}
	})
	if err != nil {
		return err
	}
	return asked.SetPendingLimits(mostAsked, mostAsked*admit.MostPayload)
}
