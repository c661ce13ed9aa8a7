// Package testbed is what this machine offers to studies: stacks, devices, links,
// sensors, meters, and the folders they lie in. It reads a study with them, lists
// everything that stands in its way here, and opens a lab that is ready to run it.
//
// It serves a program that runs several studies, one after another or at once: it
// prints nothing, ends no process, runs nothing again, and keeps no state but in
// its values. It conducts no trial; that is the lab's.
package testbed

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"edgegauge.example/edgegauge/internal/stack"
)

// Options say where a testbed looks, and what it may do. Local finds the usual.
type Options struct {
	Exe     string // path of this program's binary
	Version string // of this program, kept with results

	// Folders of stacks, of device profiles, of link profiles: the later hide the earlier.
	Stacks  []Folder
	Devices []string
	Links   []string
	// Cache is where emulated machines are built and kept, and checksums of programs; empty: there is none.
	Cache string
	// Source is the folder of this program's source, of which it is made for emulated
	// machines; empty: where the binary lies, if that is in it.
	Source string
	Temp   string // folder for temporary files; empty: the system's
	// Together is by which labs know of each other (lab.Lab.Together); empty: the processes that this one can name.
	Together string
	// Versions are other versions of stacks, by names of their own.
	Versions []Version
	// Rootless says that the caller runs this program again in a user namespace of
	// its own (link.Rootless) when Open returns ErrRootless.
	Rootless bool
}

// A Folder is one in which stacks are looked for.
type Folder struct {
	Path string
	// Trusted says that programs described there may be run to find out whether they
	// are there: the folder came with the installation, or the user named it.
	Trusted bool
	// Given says that it was named for this command alone, by --stacks: the next one must name it again.
	Given bool
}

// A Version is a stack that lies in no folder of stacks.
type Version struct {
	stack.Description
	Trusted bool // as a Folder's
}

// A Testbed is what this machine offers. Its methods may be called from several
// goroutines.
type Testbed struct {
	Options

	once   sync.Once
	stacks map[string]stack.Description
	broken error
	// reserved are stacks inside this program whose names folders have, too.
	reserved map[string]error
	found    sync.Map // programs in the version that a stack needs, by versionOf
	linked   sync.Map // shapers by which a link was made here

	summed sync.Once
	ownSum string // of this process's program; empty: it cannot be read
}

// New makes a testbed. It reads nothing yet.
func New(o Options) *Testbed { return &Testbed{Options: o} }

// Local is the testbed as this process's command line, environment and working
// directory have it: the folders beside the binary, then those here, then those of
// EDGEGAUGE_STACKS, EDGEGAUGE_DEVICES and EDGEGAUGE_LINKS, then the stacks named.
func Local(version string, stacks ...string) (Options, error) {
	exe, err := os.Executable()
	if err != nil {
		return Options{}, err
	}
	o := Options{Exe: exe, Source: os.Getenv("EDGEGAUGE_SOURCE"), Version: version, Devices: []string{"devices"},
		Links: []string{"links"}, Together: os.Getenv("EDGEGAUGE_TOGETHER")}
	for _, dir := range installed(exe, "stacks") {
		o.Stacks = append(o.Stacks, Folder{Path: dir, Trusted: true})
	}
	if !sameAsOne("stacks", o.Stacks) {
		o.Stacks = append(o.Stacks, Folder{Path: "stacks"})
	}
	for _, dir := range filepath.SplitList(os.Getenv("EDGEGAUGE_STACKS")) {
		o.Stacks = append(o.Stacks, Folder{Path: dir, Trusted: true})
	}
	for _, dir := range stacks {
		o.Stacks = append(o.Stacks, Folder{Path: dir, Trusted: true, Given: true})
	}
	o.Devices = append(o.Devices, filepath.SplitList(os.Getenv("EDGEGAUGE_DEVICES"))...)
	o.Links = append(o.Links, filepath.SplitList(os.Getenv("EDGEGAUGE_LINKS"))...)
	if dir := os.Getenv("EDGEGAUGE_CACHE"); dir != "" {
		o.Cache, err = filepath.Abs(dir)
	} else if dir, err := os.UserCacheDir(); err == nil {
		o.Cache = filepath.Join(dir, "edgegauge")
	}
	return o, err
}

// installed are the folders of that name that came with the binary.
func installed(exe, name string) []string {
	beside := filepath.Dir(exe)
	return []string{filepath.Join(beside, name), filepath.Join(beside, "..", name)}
}

// sameAsOne says whether dir is one of the folders under another name.
func sameAsOne(dir string, folders []Folder) bool {
	this, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for _, f := range folders {
		if other, err := os.Stat(f.Path); err == nil && os.SameFile(this, other) {
			return true
		}
	}
	return false
}

// cacheDir is where machines are made and kept.
func (b *Testbed) cacheDir() (string, error) {
	if b.Cache == "" {
		return "", errors.New("no folder for emulated machines; set EDGEGAUGE_CACHE")
	}
	return b.Cache, nil
}

// InCache adds to an error of files below the cache that could not be written
// what to do.
func InCache(err error) error {
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%w; set EDGEGAUGE_CACHE to a folder where you may write", err)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("%w; free space there, or set EDGEGAUGE_CACHE to another folder", err)
	}
	return err
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return !errors.Is(err, os.ErrNotExist)
}
