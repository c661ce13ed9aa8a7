package testbed

import (
	"fmt"

	"edgegauge.example/edgegauge/internal/service"
	"edgegauge.example/edgegauge/internal/service/codec"
	"edgegauge.example/edgegauge/internal/stack"
	"edgegauge.example/edgegauge/internal/study"
	"edgegauge.example/edgegauge/stacks/reference"
)

// seeMessages finds messages that cannot be made, or that a client in this program would refuse: of devices one that
// needs blocks, of the floor of UDP one that no datagram holds. The messages of each block are others: the first few
// are looked at.
func (x *assembly) seeMessages() {
	const few = 20
	seen := map[int]int{} // of treatments
	for _, t := range x.plan.Trials {
		if t.Setup.URL != "" || seen[t.Cell] == few {
			continue
		}
		seen[t.Cell]++
		m := x.madeOf(t)
		if m.close && seen[t.Cell] > 1 {
			m = x.makes(t, sizeOf(t.Setup))
		}
		if m.tooLarge != "" {
			seen[t.Cell] = few
			x.fault(t, m.tooLarge, "raise limits: {body: …}, or send less", "options.letters", "size", "n")
			continue
		}
		client := t.Setup.Client.Stack
		call, err := x.lab.CallOf(t)
		if err == nil && t.Setup.Population.Devices > 0 {
			err = reference.CheckDevices(client, call)
		}
		if err == nil {
			err = reference.CheckFloor(client, call)
		}
		if err != nil {
			seen[t.Cell] = few
			x.fault(t, fmt.Sprintf("the message for stack %s: %v", client, err), "", "options.letters", "options.max", "size",
				"n", "devices", "stack", "client.stack")
		}
	}
}

// sized is what the size of a message depends on, but for the drawn values.
type sized struct {
	service, encoding, letters, max string
	n                               int
	size                            int64
}

func sizeOf(s *study.Setup) sized {
	return sized{s.Service, s.Encoding, s.Options["letters"], s.Options["max"], s.N, s.Size}
}

// made is a message as far as its size is known.
type made struct {
	bytes    int64  // of its body; 0: not known, or too many to be made
	close    bool   // it or its answer is so close to limits.body that another block's may be above it
	tooLarge string // why a server refuses it, or a client its answer; empty: none does
}

// mostMade is how many values of a message are made, at most, to learn how large it is.
const mostMade = 20_000_000

// makes says how large a message is, and that it or its answer is above limits.body, which is refused, if it surely
// is: at once if it has more values than that has bytes, since none takes less than half of one, even compressed. The
// size of another is that of the message itself, where this program can encode it, or what it comes to by
// those of smaller ones.
func (x *assembly) makes(t study.Trial, of sized) made {
	limit := x.plan.Study.Body
	large := func(format string, args ...any) made {
		return made{tooLarge: fmt.Sprintf(format+" above limits.body, %s", append(args, study.SizeText(limit))...)}
	}
	if int64(of.n)/2 > limit {
		return large("a message of %d elements is", of.n)
	}
	call, err := x.lab.CallOf(t)
	encoding, err2 := codec.Parse(of.encoding)
	name, err3 := service.Parse(of.service)
	if err != nil || err2 != nil || err3 != nil {
		return made{} // said elsewhere, or of a stack that has its own
	}
	m := call.Message
	values := int64(m.N)
	if name == service.Concat {
		values *= int64(max(m.Letters, 1))
	}
	if values/2 > limit {
		return large("a message of %d strings of %d letters is", m.N, m.Letters)
	}
	size := func(n, letters int) int64 {
		return int64(len(codec.Append(encoding, nil, name, false, requested(name, m, n, letters))))
	}
	answerSize := func(n, letters int) int64 {
		return int64(len(answered(name, encoding, requested(name, m, n, letters))))
	}
	what := fmt.Sprintf("a message of %d elements", m.N)
	ofOwnSize := of.n == 0 && of.size == 0
	if ofOwnSize {
		what = "the message"
	}
	const surely = 1.02 // what the drawn values leave open
	sloped := func(size func(n, letters int) int64) (int64, bool) {
		got := sizeBySlope(m.N, m.Letters, name == service.Concat, size)
		return got, float64(got) > surely*float64(limit)
	}
	if values > mostMade {
		if got, over := sloped(size); over {
			return large("%s takes about %d B in %s,", what, got, encoding)
		}
		if got, over := sloped(answerSize); over {
			return large("the answer to %s takes about %d B in %s,", what, got, encoding)
		}
		return made{}
	}
	request := requested(name, m, m.N, m.Letters)
	body := codec.Append(encoding, nil, name, false, request)
	got := int64(len(body))
	if got > limit {
		return large("%s takes %d B in %s,", what, got, encoding)
	}
	out := made{bytes: got, close: near(got, limit)}
	if ofOwnSize {
		out.bytes = 0 // a link over which it takes too long is said to have too long a round trip
	}
	if values > mostAnswered {
		if answer, over := sloped(answerSize); over {
			return large("the answer to %s takes about %d B in %s,", what, answer, encoding)
		}
		return out
	}
	answer := answered(name, encoding, request)
	out.close = out.close || near(int64(len(answer)), limit)
	switch {
	case int64(len(answer)) > limit:
		return large("the answer to %s takes %d B in %s,", what, len(answer), encoding)
	case codec.DecodeWithin(encoding, body, name, false, new(service.Message), int(limit)) == codec.ErrTooLarge:
		return large("%s takes %d B in %s, and its texts unpack to one", what, got, encoding)
	case len(answer) > 0 &&
		codec.DecodeWithin(encoding, answer, name, true, new(service.Message), int(limit)) == codec.ErrTooLarge:
		return large("the answer to %s takes %d B in %s, and its texts unpack to one", what, len(answer), encoding)
	}
	return out
}

// near says that the message of another block may be above a limit that this one keeps.
func near(size, limit int64) bool { return float64(size) > 0.9*float64(limit) }

// mostAnswered is how many values a message has, at most, of which the answer is made to learn how large it is: a
// service may have to sort them.
const mostAnswered = 1_000_000

// requested is a message of so many elements, of so many letters each.
func requested(name service.Name, m stack.Message, n, letters int) *service.Message {
	var out service.Message
	service.Make(name, m.Seed, n, service.Width{Letters: letters, Max: m.Max}, &out)
	return &out
}

// answered is the body of the answer to a message; nil of one that needs the server's sensor, and is short.
func answered(name service.Name, encoding codec.Encoding, request *service.Message) []byte {
	if name == service.Temperature {
		return nil
	}
	var answer service.Message
	env := service.Env{Keep: func(data, back []byte) ([]byte, error) { return append(back[:0], data...), nil }}
	if service.Answer(name, request, &answer, env) != nil {
		return nil
	}
	return codec.Append(encoding, nil, name, true, &answer)
}

// sizeBySlope is the size of a message as those of two smaller ones tell it: they have fewer elements, or
// fewer letters in each where there are more of these.
func sizeBySlope(n, letters int, ofLetters bool, size func(n, letters int) int64) int64 {
	const made = 100_000 // values of the smaller one
	whole, each, of := n, 1, func(count int) int64 { return size(count, letters) }
	if ofLetters {
		each = max(letters, 1)
		if letters > n {
			whole, each, of = letters, max(n, 1), func(count int) int64 { return size(n, count) }
		}
	}
	small := max(made/each, 1)
	one, two := of(small), of(2*small)
	return two + int64(float64(two-one)/float64(small)*float64(whole-2*small))
}
