package main

import (
	"os"

	"edgegauge.example/edgegauge/internal/device/sensor"
)

// sensorMain is the simulated sensor as a program of its own.
func sensorMain([]string) int { return sensor.Main(os.Stdin, os.Stdout) }
