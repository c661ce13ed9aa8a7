//go:build race

package device

// raceDetector says that this test is built with it, which takes memory of its own.
const raceDetector = true
