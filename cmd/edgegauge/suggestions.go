package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/studies"
)

// plainMistakes makes every command say of a wrong command line what is wrong and what to write,
// instead of what cobra says.
func plainMistakes(root *cobra.Command) {
	root.SetFlagErrorFunc(flagMistake)
	root.SetHelpCommand(helpCmd())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	plainArguments(root)
}

func plainArguments(c *cobra.Command) {
	for _, sub := range c.Commands() {
		plainArguments(sub)
	}
	if c.HasSubCommands() {
		c.SuggestionsMinimumDistance = 2
		if !c.Runnable() {
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
		if c.Args != nil && c.Args(c, []string{"a word"}) == nil { // it takes others than verbs, too
			return
		}
		c.Args = func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknownVerb(c, args)
		}
		return
	}
	check := c.Args
	c.Args = func(c *cobra.Command, args []string) error {
		if err := emptyWords(c, args); err != nil {
			return err
		}
		if check == nil || check(c, args) == nil {
			return nil
		}
		return wrongArguments(c, args)
	}
}

// mayBeEmpty are flags that a workflow passes on even where its user left them out.
var mayBeEmpty = []string{"build"}

// namesNew are flags that name what will be made. A flag behind them is taken for its name, which no proposed command
// could repeat.
var namesNew = []string{"junit", "markdown", "out", "svg"}

// emptyWords refuses words without a letter, which a shell makes of a variable that is not set: taken
// for words that were not given, they would do something else than was asked for.
func emptyWords(c *cobra.Command, args []string) (err error) {
	if i := slices.Index(args, ""); i >= 0 {
		return fmt.Errorf("argument %d of %s is empty; is a shell variable not set?", i+1, c.CommandPath())
	}
	c.Flags().Visit(func(f *pflag.Flag) {
		if name := f.Value.String(); slices.Contains(namesNew, f.Name) && strings.HasPrefix(name, "-") && err == nil {
			err = fmt.Errorf("--%s %s: that looks like a flag; is a value missing? Write /dev/stdout for standard output, and "+
				"./%[2]s for a file of that name", f.Name, name)
		}
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if all, ok := f.Value.(pflag.SliceValue); ok {
			empty = len(all.GetSlice()) == 0 || slices.Contains(all.GetSlice(), "")
		}
		if empty && !slices.Contains(mayBeEmpty, f.Name) && err == nil {
			err = fmt.Errorf("--%s is empty; is a shell variable not set? It takes: %s", f.Name, f.Usage)
		}
	})
	return err
}

func helpCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "explain a command",
		RunE: func(c *cobra.Command, args []string) error {
			found, rest, err := c.Root().Find(args)
			switch {
			case err != nil:
				return err
			case found.HasSubCommands() && len(rest) > 0:
				return unknownVerb(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

// unknownVerb is the mistake of args, the first of which is no command below c.
func unknownVerb(c *cobra.Command, args []string) error {
	// with all that was written behind it, as a shell reads it
	written := func(words ...string) string {
		for _, word := range args[1:] {
			words = append(words, report.Quoted(word))
		}
		return strings.Join(words, " ")
	}
	var names []string
	if verb := otherVerbs[strings.TrimPrefix(c.CommandPath()+" "+args[0], "edgegauge ")]; verb != "" {
		names = []string{written("edgegauge", verb)}
	} else {
		for _, s := range c.SuggestionsFor(args[0]) {
			names = append(names, written(c.CommandPath(), s))
		}
	}
	if names == nil {
		for _, group := range c.Commands() { // list: stacks list, devices list
			for _, sub := range group.Commands() {
				if sub.Name() == args[0] {
					names = append(names, sub.CommandPath())
				}
			}
		}
	}
	if file := args[0]; names == nil && (isStudyName(file) || filepath.Ext(file) == ".yaml") {
		names = []string{"edgegauge run " + report.Quoted(file)}
	}
	advice := c.CommandPath() + " --help lists the commands"
	if names != nil {
		advice = meant.Question(names...)
	}
	return fmt.Errorf("unknown command %q; %s", strings.TrimPrefix(c.CommandPath()+" "+args[0], "edgegauge "), advice)
}

// isStudyName says whether a study of that name comes with the program.
func isStudyName(name string) bool {
	_, err := studies.Files.Open(name + ".yaml")
	return err == nil
}

// wrongArguments says which arguments are missing or too many.
func wrongArguments(c *cobra.Command, args []string) error {
	var wanted []string
	for _, w := range strings.Fields(c.Use)[1:] {
		if strings.HasPrefix(w, "-") || w == "|" { // another way to write it follows
			break
		}
		wanted = append(wanted, strings.Trim(w, "[]"))
	}
	all := strings.Join(wanted, " and ")
	switch {
	case len(wanted) == 0:
		return fmt.Errorf("%s takes no argument, but %q was given; leave it out", c.CommandPath(), args[0])
	case len(args) > len(wanted) && halfSet(c) != "":
		return fmt.Errorf("--set takes one word; write --set %s=%s", halfSet(c), strings.TrimPrefix(args[len(wanted)], "="))
	case len(args) > len(wanted) && len(args[len(wanted)]) > 1 && args[len(wanted)][0] == '-':
		return fmt.Errorf("%s takes only %s; write %s before --, after which nothing is a flag", c.CommandPath(), all,
			args[len(wanted)])
	case len(args) > len(wanted) && c.Name() == "new" && c.Flags().Lookup("lang").Value.String() == "":
		return fmt.Errorf("%s takes only %s; write --lang %s", c.CommandPath(), all, args[len(wanted)])
	case len(args) > len(wanted):
		return fmt.Errorf("%s takes only %s; leave out %q", c.CommandPath(), all, args[len(wanted)])
	case len(args) > 0:
		return fmt.Errorf("%s needs %s, but only %q was given; write, for example: %s", c.CommandPath(), all, args[0],
			exampleOf(c))
	}
	return fmt.Errorf("%s needs %s; write, for example: %s", c.CommandPath(), all, exampleOf(c))
}

// halfSet is the key of a --set that was written without a value; empty: there is none.
func halfSet(c *cobra.Command) string {
	sets, err := c.Flags().GetStringArray("set")
	if i := slices.IndexFunc(sets, func(s string) bool { return !strings.Contains(s, "=") }); err == nil && i >= 0 {
		return sets[i]
	}
	return ""
}

func exampleOf(c *cobra.Command) string {
	first, _, _ := strings.Cut(strings.TrimSpace(c.Example), "\n")
	if first == "" {
		return c.UseLine()
	}
	return first
}

// eachOf reads the words of a flag, or arguments where flag is empty. What is wrong with any of them is in the error, a
// line each.
func eachOf[T any](flag string, words []string, read func(string) (T, error)) ([]T, error) {
	var all []T
	var errs []error
	for _, word := range words {
		x, err := read(word)
		if err != nil && flag != "" {
			err = fmt.Errorf("%s %w", flag, err)
		}
		all, errs = append(all, x), append(errs, err)
	}
	return all, errors.Join(errs...)
}

// flagMistake puts the errors of pflag into plain words.
func flagMistake(c *cobra.Command, err error) error {
	if args := c.Flags().Args(); c.HasSubCommands() && len(args) > 0 {
		return unknownVerb(c, args) // whose flags they are
	}
	var unknown *pflag.NotExistError
	var lacking *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name, dashes := unknown.GetSpecifiedName(), "--"
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name, dashes = short, "-"
		}
		var known []string
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, f.Name) })
		if advice := ofOtherTools(c, name); advice != "" {
			return fmt.Errorf("unknown flag %s%s of %s; %s", dashes, name, c.CommandPath(), advice)
		}
		var near []string
		for _, n := range meant.Names(name, known) {
			near = append(near, "--"+n)
		}
		advice := c.CommandPath() + " --help lists the flags"
		if have := verbsWith(c.Root(), name); near != nil {
			advice = meant.Question(near...)
		} else if have != nil {
			advice = fmt.Sprintf("it is of %s; %s", strings.Join(have, ", "), advice)
		}
		return fmt.Errorf("unknown flag %s%s of %s; %s", dashes, name, c.CommandPath(), advice)
	case errors.As(err, &lacking):
		f := lacking.GetFlag()
		return fmt.Errorf("--%s needs a value: %s", f.Name, f.Usage)
	case errors.As(err, &invalid):
		return flagValueMistake(invalid.GetFlag(), invalid.GetValue())
	}
	return fmt.Errorf("%w; %s --help lists the flags", err, c.CommandPath())
}

// verbsWith are the commands that have a flag; nil: none, or more than a line holds.
func verbsWith(c *cobra.Command, flag string) []string {
	const most = 4
	var have []string
	if !c.Hidden && c.LocalNonPersistentFlags().Lookup(flag) != nil {
		have = append(have, c.CommandPath())
	}
	for _, sub := range c.Commands() {
		have = append(have, verbsWith(sub, flag)...)
	}
	if len(have) > most {
		return nil
	}
	return have
}

// flagValueMistake says what kind of value a flag takes, with an example.
func flagValueMistake(f *pflag.Flag, value string) error {
	form, example := "a whole number", "100"
	switch f.Value.Type() {
	case "float64":
		form = "a number"
	case "duration":
		form, example = "a duration", "10s"
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return fmt.Errorf("--%s %s has no unit; write, for example, --%[1]s %[2]ss or --%[1]s %[2]sms", f.Name, value)
		}
		if days, ok := strings.CutSuffix(value, "d"); ok && len(days) < 6 {
			if n, err := strconv.Atoi(days); err == nil {
				return fmt.Errorf("--%s %s: the largest unit is the hour; write --%[1]s %[3]dh", f.Name, value, 24*n)
			}
		}
	case "bool":
		form, example = "true or false", "true"
	case "uint8":
		example = "1"
	}
	switch f.Name {
	case "expect":
		form, example = "a status", "200"
	case "confidence":
		example = "0.95"
	}
	if !slices.Contains([]string{"0", "0s", "-1", "false", "[]", ""}, f.DefValue) {
		example = f.DefValue
	}
	if f.NoOptDefVal != "" { // a value stands behind =, or not at all
		return fmt.Errorf("--%s %q is not %s; write --%[1]s alone", f.Name, value, form)
	}
	return fmt.Errorf("--%s %q is not %s; write, for example, --%[1]s %[4]s", f.Name, value, form, example)
}
