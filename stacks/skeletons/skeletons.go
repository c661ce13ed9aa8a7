// Package skeletons holds small stacks to begin one's own with: the services echo
// and monitor, as JSON over HTTP, in several languages.
package skeletons

import (
	"embed"
	"io/fs"
)

// In the files @NAME@ stands for the stack's name; go.mod is called go.mod.txt,
// since no module can be embedded in another, and .gitignore gitignore.txt, since
// it would hold for this folder, too.
//
//go:embed python node go rust java c
var files embed.FS

// Languages lists what Of knows.
func Languages() []string { return []string{"python", "node", "go", "rust", "java", "c"} }

// A Part is a tree of files and the folder of the new stack that it goes to.
type Part struct {
	FS fs.FS
	In string
}

// Of is what a new stack in a language is made of.
func Of(lang string) []Part {
	own, err := fs.Sub(files, lang)
	if err != nil {
		return nil
	}
	return []Part{{own, "."}}
}
