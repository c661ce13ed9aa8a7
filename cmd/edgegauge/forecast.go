package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"edgegauge.example/edgegauge/batteries"
	"edgegauge.example/edgegauge/internal/advise/battery"
	"edgegauge.example/edgegauge/internal/advise/cost"
	"edgegauge.example/edgegauge/internal/kernel"
	"edgegauge.example/edgegauge/internal/meant"
	"edgegauge.example/edgegauge/internal/named"
	"edgegauge.example/edgegauge/internal/report"
	"edgegauge.example/edgegauge/radios"
)

// batteryFlags say what a battery's life is forecast for.
type batteryFlags struct {
	battery, link, joules string
	period                time.Duration
	set                   []string
}

func (f *batteryFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.battery, "battery", "", "a file NAME.yaml in ./batteries, or one that comes with edgegauge")
	c.Flags().StringVar(&f.link, "link", "", "radio: a file NAME.yaml in ./radios, or one that comes with edgegauge")
	c.Flags().DurationVar(&f.period, "period", 0, "time from one report to the next, e.g. 15m or 24h")
	c.Flags().StringArrayVar(&f.set, "set", nil,
		"override a figure of a file, e.g. radio.inactivity=5s or device.sleep=5uW..20uW (repeatable)")
	c.Flags().StringVar(&f.joules, "joules", "",
		"what the joules in the results cover: processor, exchange (the radio too) or none (default: processor if "+
			"measured)")
}

var errNoPeriod = errors.New("--period is missing or not positive; write, for example, --period 1h")

// any reports whether something was said of a battery.
func (f *batteryFlags) any() bool {
	return f.battery+f.link+f.joules != "" || f.period != 0 || len(f.set) > 0
}

// conditions finds the files; every mistake is one of usage.
func (f *batteryFlags) conditions(confidence float64) (battery.Conditions, error) {
	c := battery.Conditions{Period: f.period, Confidence: confidence}
	if f.period <= 0 {
		return c, exit{exitUsage, errNoPeriod}
	}
	if as := report.Joules(f.joules); !slices.Contains([]report.Joules{"", report.OfProcessor, report.OfExchange,
		report.NoJoules}, as) {
		return c, exit{exitUsage, fmt.Errorf("--joules %q: write processor, exchange or none", f.joules)}
	}
	var err error
	if c.Set, err = eachOf("--set", f.set, battery.ParseSet); err != nil {
		return c, exit{exitUsage, err}
	}
	if c.Radio, err = found(battery.Radio, "link", f.link, radios.Files, "radios"); err != nil {
		return c, err
	}
	c.Battery, err = found(battery.Battery, "battery", f.battery, batteries.Files, "batteries")
	return c, err
}

// found is the profile of that name, from the working folder or from the program.
func found(kind battery.Kind, flag, name string, own fs.FS, folder string) (battery.Profile, error) {
	all, broken := battery.Load(kind, own, kernel.DirFS(folder, 1<<20))
	p, ok := all[name]
	if err := named.FaultOf(name, broken); err != nil {
		return p, exit{exitUsage, fmt.Errorf("--%s: %w", flag, err)}
	}
	if !ok {
		names := slices.Sorted(maps.Keys(all))
		return p, exit{exitUsage, fmt.Errorf("--%s: unknown %s %q; %s; one of your own stands in %s/NAME.yaml", flag, kind,
			name, meant.Advice(name, names, "write one of "+fmt.Sprint(names)), folder)}
	}
	return p, nil
}

func forecastCmd() *cobra.Command {
	var f batteryFlags
	var many fleetFlags
	var confidence float64
	var asJSON, each bool
	var svg string
	c := &cobra.Command{
		Use:   "forecast RESULTS... --battery NAME --link NAME --period TIME",
		Short: "how long a battery lasts, and how much server and network capacity many devices need",
		Long: `Forecast estimates how long a battery lasts in a device that sends the measured request once per period. It
prints an interval, where the energy goes, what to change first, and which figures are least certain. Bytes, joules and
waiting times come from the results. What the radio does in addition (attach, timers, C-DRX, paging, PSM) and what the
battery loses come from files, in which each figure has a source and limits. All of it is modelled, not measured.
doc/battery-life.md goes through an example.

With --devices it says what this many devices need per month: server cores and bytes on the wire, and with --prices
servers and money. --battery is then optional.`,
		Example: "  edgegauge forecast results/latest --battery 2xAA --link nb-iot --period 1h\n" +
			"  edgegauge forecast results/latest --battery CR2032 --link ble --period 1m --set device.sleep=3uW\n" +
			"  edgegauge forecast results/latest --period 1h --devices 100000 --prices prices.yaml",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkConfidence(cmd, confidence); err != nil {
				return err
			}
			fleet, err := many.fleet(f.period, cmd.Flags().Changed("devices"))
			if err != nil {
				return err
			}
			var k battery.Conditions
			if alone := fleet != nil && f.battery+f.link == ""; !alone {
				if k, err = f.conditions(confidence); err != nil {
					return err
				}
			}
			if svg != "" && k.Battery.Name == "" {
				return exit{exitUsage, errors.New("--svg draws where a battery's energy goes; name a battery with --battery")}
			}
			if svg != "" {
				if err := creatable("--svg", svg); err != nil {
					return err
				}
			}
			out, err := forecast(args, k, report.Joules(f.joules), fleet)
			if err != nil {
				return err
			}
			out.Each = each
			if svg != "" {
				writes()
				if err := putFile(svg, out.Picture().File); err != nil {
					return fmt.Errorf("--svg: %w", err)
				}
			}
			if asJSON {
				return out.JSON(cmd.OutOrStdout())
			}
			return out.Text(cmd.OutOrStdout())
		},
	}
	f.add(c)
	c.Flags().IntVar(&many.devices, "devices", 0, "say what this many devices need per month")
	c.Flags().StringVar(&many.prices, "prices", "", "file of prices (doc/battery-life.md)")
	c.Flags().Float64Var(&confidence, "confidence", 0.95, "of the interval")
	c.Flags().BoolVar(&each, "each", false, "show where the energy goes for each treatment, not only for the best")
	c.Flags().StringVar(&svg, "svg", "", "also draw where the energy goes, as SVG, to this file")
	jsonFlag(c, &asJSON)
	goWith(c, []string{"battery", "link"}, "set", "joules", "confidence", "each")
	return c
}

// fleetFlags say how many devices there are, and what their month costs.
type fleetFlags struct {
	devices int
	prices  string
}

// fleet is what is asked of many devices, if their number is given or prices are; nil: nothing.
func (f fleetFlags) fleet(period time.Duration, given bool) (*report.Fleet, error) {
	switch {
	case !given && f.prices == "":
		return nil, nil
	case f.devices < 1:
		return nil, exit{exitUsage, errors.New("--devices is missing or not positive; write, for example, --devices 100000")}
	case period <= 0:
		return nil, exit{exitUsage, errNoPeriod}
	}
	out := &report.Fleet{Devices: f.devices, Period: period}
	if f.prices == "" {
		return out, nil
	}
	text, err := kernel.ReadFile(f.prices, 1<<20)
	if err != nil {
		return nil, exit{exitUsage, fmt.Errorf("--prices: %w", unreadable(f.prices, err))}
	}
	p, err := cost.Read(text)
	if err != nil {
		return nil, exit{exitUsage, fmt.Errorf("--prices %s: %w", f.prices, err)}
	}
	out.Prices = &p
	return out, nil
}

// forecast joins the forecasts of all results. It is an error if there is none at all.
func forecast(dirs []string, k battery.Conditions, joules report.Joules, fleet *report.Fleet) (report.Forecasts,
	error) {
	all := report.Forecasts{Conditions: k, Fleet: fleet}
	reports, err := readEach(dirs, wholeReport)
	if err != nil {
		return all, err
	}
	for i, dir := range dirs {
		r := reports[i]
		of := func(name string) string {
			if len(dirs) > 1 {
				return dir + ": " + name
			}
			return name
		}
		all.Warnings = append(all.Warnings, r.Doubts()...)
		if fleet != nil {
			for _, row := range r.Fleet(fleet.Devices, fleet.Period, fleet.Prices).Rows {
				row.Name = of(row.Name)
				fleet.Rows = append(fleet.Rows, row)
			}
		}
		if k.Battery.Name == "" {
			continue
		}
		for _, row := range r.Forecast(k, joules).Rows {
			row.Name = of(row.Name)
			all.Rows = append(all.Rows, row)
		}
	}
	all.Sort()
	if fleet != nil && slices.ContainsFunc(fleet.Rows, func(r report.FleetRow) bool { return r.Err == nil }) {
		return all, nil
	}
	if fleet != nil && k.Battery.Name == "" && len(fleet.Rows) > 0 {
		return all, exit{exitUsage, fleet.Rows[0].Err}
	}
	if !slices.ContainsFunc(all.Rows, func(r report.ForecastRow) bool { return r.Err == nil }) {
		if len(all.Rows) == 0 {
			return all, exit{exitUsage, errors.New("the results contain only floors")}
		}
		return all, exit{exitUsage, all.Rows[0].Err}
	}
	return all, nil
}
