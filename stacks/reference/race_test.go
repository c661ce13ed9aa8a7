//go:build race

package reference

// raceDetector says that this test is built with it: a sync.Pool then drops what it was given at random, and so more is
// allocated.
const raceDetector = true
