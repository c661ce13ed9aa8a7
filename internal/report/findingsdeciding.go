package report

import (
	"fmt"
	"slices"
	"strings"

	"edgegauge.example/edgegauge/internal/advise/paper"
	"edgegauge.example/edgegauge/internal/stat"
)

// A deciding is what would decide claims, with the command for whoever has it; empty: nothing practical would.
type deciding struct {
	What, Command, Lacks string
	Claims               []string
}

// Deciding are the ways to decide what is undecided, and to repeat all of it on boards like the paper's.
func (f finding) Deciding() []deciding {
	like := "edgegauge run --like " + f.Kept()
	meter := deciding{What: "A power meter in place of a model, on " + f.Paper.Boards + ". A pilot of 10 trials shows " +
		"how many are enough; " + theirTrials(f.Paper), Command: f.onBoards("design.replications=10"),
		Lacks: "boards and meters"}
	board := deciding{What: "A board like the paper's: " + f.Paper.Boards, Command: f.onBoards(), Lacks: "boards"}
	all := board
	all.What = "Not a matter of these claims alone: all of it on hardware like the paper's, " + f.Paper.Boards
	messages := deciding{What: "The paper's own messages. Ours were made of the sizes that it prints, so no run of this " +
		"study decides these"}
	stacks := deciding{What: "The paper's own stacks", Lacks: "those stacks",
		Command: "edgegauge run " + f.Paper.Name + inQuotes(f.Paper.OwnSet) + " --out own"}
	absent := deciding{What: "The published treatments that were not measured",
		Command: "edgegauge run " + f.Paper.Name + " --out all", Lacks: "the stacks of the study"}
	answers := deciding{What: "Results in which no request fails, or so few that they cannot turn the answer",
		Command: like + " --out answered", Lacks: "services that answer"}
	quiet := deciding{What: "The same trials while nothing else runs on the machine, or on one with more CPUs",
		Command: like + " --out quiet",
		Lacks:   "a quiet machine, for as long as the study takes"}
	more := deciding{Lacks: "a quiet machine, for as long as the study takes"}
	blocks, have := 0, f.Results.blocks()
	unknown := deciding{What: "More trials. How many cannot be said from these", Lacks: more.Lacks,
		Command: fmt.Sprintf("%s --set design.replications=%d --out twice", like, max(10, 2*have))}
	near := deciding{What: fmt.Sprintf("More than %d blocks each, which is not practical: these lie so near the limit "+
		"of what they claim that the interval itself is the answer", paper.Practical)}
	for _, c := range f.Results.Published.Claims {
		if c.Verdict != stat.Undecided {
			continue
		}
		to := &unknown
		switch {
		case c.Needs.Meter != "":
			to = &meter
		case c.Needs.Messages:
			to = &messages
		case c.Needs.Stacks:
			to = &stacks
		case c.Needs.Treatments:
			to = &absent
		case c.Needs.Board:
			to = &board
		case c.Needs.Answers:
			to = &answers
		case c.Needs.Quiet:
			to = &quiet
		case c.Needs.Blocks > paper.Practical:
			to = &near
		case c.Needs.Blocks > 0:
			to, blocks = &more, max(blocks, c.Needs.Blocks)
		}
		words := c.Words()
		if to == &board && c.Claim.Decide != "" {
			words += " [" + c.Claim.Decide + "]"
		}
		if text := c.OutOfReach(); to == &stacks && text != "" {
			words += " [" + text + "]"
		}
		to.Claims = append(to.Claims, markdownText(words))
	}
	more.What = fmt.Sprintf("More trials: %d blocks instead of %d decide all of these, if the figures stay as they are. "+
		"The table says how many each needs", blocks, have)
	more.Command = fmt.Sprintf("%s --set design.replications=%d --out more", like, blocks)
	ways := []deciding{meter, board, messages, stacks, absent, answers, quiet, more, unknown, near}
	out := slices.DeleteFunc(ways, func(d deciding) bool { return len(d.Claims) == 0 })
	if len(f.Paper.On) > 0 && len(meter.Claims)+len(board.Claims) == 0 {
		out = append(out, all)
	}
	return out
}

// onBoards is the command that runs the study on boards like the paper's.
func (f finding) onBoards(sets ...string) string {
	return "edgegauge run " + f.Paper.Name + inQuotes(f.Paper.OwnSet, f.Paper.On, sets) + " --out boards"
}

// inQuotes are settings as a shell takes them.
func inQuotes(sets ...[]string) (text string) {
	for _, set := range slices.Concat(sets...) {
		if strings.ContainsAny(set, ` "{`) {
			set = "'" + set + "'"
		}
		text += " --set " + set
	}
	return text
}
