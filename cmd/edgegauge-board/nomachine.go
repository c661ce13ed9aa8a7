//go:build board && !arm && !arm64

package main

// No other architecture is emulated, so boards of others are spared what only machines need.
func bootMachine() {}

var machineVerbs map[string]func(args []string) int
