package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/internal/lazy"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/stacks/skeletons"
)

func stacksNewCmd(a *app) *cobra.Command {
	var lang, folder string
	var asJSON bool
	languages := strings.Join(skeletons.Languages(), ", ")
	c := &cobra.Command{
		Use:   "new NAME --lang LANGUAGE",
		Short: "create a small working stack as a start for your own",
		Long: "Writes the folder stacks/NAME: a stack that serves echo and monitor as JSON over HTTP and passes\n" +
			"stacks check. Comments say where your own framework goes. Languages: " + languages + ".",
		Example: "  edgegauge stacks new mine --lang python\n  edgegauge stacks check mine --trust",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			name := args[0]
			if !stackName().MatchString(name) {
				return exit{exitUsage, fmt.Errorf("invalid stack name %q; use letters from A to Z, digits, dashes and "+
					"dots, with a letter or digit at either end", name)}
			}
			if lang == "" {
				return exit{exitUsage, fmt.Errorf("name the language of the stack with --lang: %s", languages)}
			}
			if !slices.Contains(skeletons.Languages(), lang) && alsoCalled[strings.ToLower(lang)] != "" {
				return exit{exitUsage, fmt.Errorf("no skeleton in %q; did you mean %s?", lang, alsoCalled[strings.ToLower(lang)])}
			}
			if !slices.Contains(skeletons.Languages(), lang) {
				return exit{exitUsage, fmt.Errorf("no skeleton in %q; %s", lang,
					meant.Advice(lang, skeletons.Languages(), "--lang takes "+languages))}
			}
			bed, err := a.bed()
			if err != nil {
				return err
			}
			if d, ok := bed.FindStack(name); ok {
				return exit{exitUsage, fmt.Errorf("a stack %s exists already; choose another name", d.Name)}
			}
			if info, err := os.Stat(folder); err == nil && !info.IsDir() {
				return exit{exitUsage, fmt.Errorf("--in %s is a file; name a folder", folder)}
			}
			dir := filepath.Join(folder, name)
			files, err := writeSkeleton(dir, name, lang)
			if errors.Is(err, fs.ErrExist) {
				return exit{exitUsage, fmt.Errorf("%s exists already; remove it or choose another name", dir)}
			}
			if err != nil {
				return exit{exitUnmeasured, err}
			}
			check := "edgegauge stacks check " + name + " --trust"
			if folder != "stacks" {
				check += " --stacks " + report.QuotedPath(folder)
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return writeJSON(out, struct {
					Format int      `json:"format"`
					Name   string   `json:"name"`
					Files  []string `json:"files"`
					Check  string   `json:"check"` // the command that checks it
				}{jsonFormat, name, files, check})
			}
			for _, f := range files {
				fmt.Fprintln(out, f)
			}
			fmt.Fprintf(out, "it runs as it is: %s\n", check)
			fmt.Fprintln(out, "then replace the parts marked YOUR FRAMEWORK; stacks/PROTOCOL.md describes the protocol")
			return nil
		},
	}
	jsonFlag(c, &asJSON)
	c.Flags().StringVar(&lang, "lang", "", "language: "+languages)
	c.Flags().StringVar(&folder, "in", "stacks", "folder in which to create the stack's folder")
	return c
}

// alsoCalled are the languages by other names that are not near in letters, and what runs beside one of them.
var alsoCalled = map[string]string{"javascript": "node", "js": "node", "nodejs": "node", "typescript": "node",
	"ts": "node", "py": "python", "python3": "python", "golang": "go", "rs": "rust", "c++": "c", "cpp": "c",
	"kotlin": "java", "scala": "java"}

var stackName = lazy.Regexp(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)

// writeSkeleton makes dir, which must not be there, and returns the files written.
func writeSkeleton(dir, name, lang string) ([]string, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	var files []string
	for _, from := range skeletons.Of(lang) {
		err := fs.WalkDir(from.FS, ".", func(p string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := fs.ReadFile(from.FS, p)
			if err != nil {
				return err
			}
			p = strings.TrimSuffix(p, ".txt")
			if p == "gitignore" {
				p = ".gitignore"
			}
			to := filepath.Join(dir, filepath.FromSlash(path.Join(from.In, p)))
			mode := fs.FileMode(0o644)
			if strings.HasSuffix(p, ".sh") {
				mode = 0o755
			}
			files = append(files, to)
			text := strings.ReplaceAll(string(b), "@NAME@", name)
			return errors.Join(os.MkdirAll(filepath.Dir(to), 0o755), os.WriteFile(to, []byte(text), mode))
		})
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return files, nil
}
