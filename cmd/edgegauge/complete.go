package main

import (
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/internal/testbed"
	"edgegauge.example/edgegauge/stacks/skeletons"
)

// An offer is what a shell is offered where a name is written.
type offer struct {
	names func(*testbed.Testbed) []string
	files bool // files stand there as well
	many  bool // more than one name
}

// offers are those of arguments, by verb. Of other verbs the arguments are files and folders.
var offers = map[string]offer{
	"run":           {files: true, names: studyNames},
	"check":         {files: true, many: true, names: studyNames},
	"plan":          {files: true, names: studyNames},
	"capacity":      {files: true, names: studyNames},
	"links":         {names: linkNames},
	"stacks check":  {many: true, names: (*testbed.Testbed).StackNames},
	"stacks build":  {many: true, names: (*testbed.Testbed).StackNames},
	"devices check": {names: (*testbed.Testbed).DeviceNames},
	"devices build": {many: true, names: (*testbed.Testbed).DeviceNames},
	"schema":        {names: always("study", "radio", "battery")},
}

// flagOffers are those of flags, by verb and flag.
var flagOffers = map[string]offer{
	"stacks new --lang": {names: always(skeletons.Languages()...)},
	"report --format":   {names: always(formatNames()...)},
	"history --by":      {names: always(report.ByDate, report.ByCommit, report.ByVersion)},
}

func studyNames(*testbed.Testbed) []string { return builtInStudies() }

func linkNames(b *testbed.Testbed) []string {
	all, _ := b.LinkProfiles()
	return slices.Sorted(maps.Keys(all))
}

func always(names ...string) func(*testbed.Testbed) []string {
	return func(*testbed.Testbed) []string { return names }
}

// completes makes a shell offer names as well as verbs and flags (edgegauge completion).
func (a *app) completes(c *cobra.Command) {
	for _, sub := range c.Commands() {
		a.completes(sub)
	}
	verb := verbOf(c)
	if o, ok := offers[verb]; ok {
		c.ValidArgsFunction = a.completion(o)
	}
	for name, o := range flagOffers {
		if flag, ok := strings.CutPrefix(name, verb+" --"); ok {
			o.many = true                                           // whatever the arguments are
			_ = c.RegisterFlagCompletionFunc(flag, a.completion(o)) // TestCompletion knows whether the flag is there
		}
	}
}

// bashAlone is what cobra's script takes from the package bash-completion, where that is not installed: without
// it each Tab would print an error.
const bashAlone = `if ! declare -F _get_comp_words_by_ref >/dev/null; then
    _get_comp_words_by_ref()
    {
        cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=("${COMP_WORDS[@]}") cword=$COMP_CWORD
    }
fi
if ! declare -F __ltrim_colon_completions >/dev/null; then
    __ltrim_colon_completions() { :; }
fi
`

// completesAlone makes the script for bash work without other packages.
func completesAlone(root *cobra.Command) {
	c, _, err := root.Find([]string{"completion", "bash"})
	if err != nil || c.RunE == nil {
		return // TestCompletionInBash sees that
	}
	script := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if _, err := io.WriteString(root.OutOrStdout(), bashAlone); err != nil {
			return err
		}
		return script(c, args)
	}
}

func (a *app) completion(o offer) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
		then := cobra.ShellCompDirectiveNoFileComp
		if o.files {
			then = cobra.ShellCompDirectiveDefault
		}
		bed, err := a.bed()
		if err != nil || len(args) > 0 && !o.many {
			return nil, then
		}
		var out []string
		for _, name := range o.names(bed) {
			if strings.HasPrefix(name, begun) && !slices.Contains(args, name) {
				out = append(out, name)
			}
		}
		return out, then
	}
}
