package reference

import (
	"cmp"
	"slices"
)

// CheckOptions finds an option that a stack's programs would refuse when they are started, and why; nil: there is none.
func CheckOptions(name, security, transport string, options map[string]string) (option string, err error) {
	k, _ := find(name)
	for _, o := range k.options {
		if v, given := options[o]; given {
			if err := k.refuses(security, transport, map[string]string{o: v}); err != nil {
				return o, err
			}
		}
	}
	return "", nil
}

// refuses says why programs of a kind refuse options.
func (k kind) refuses(security, transport string, options map[string]string) error {
	var errs [3]error
	switch {
	case slices.Equal(k.options, coapOptions):
		_, errs[0] = unconfirmable(options)
		_, errs[1] = connectionID(security, options)
		_, errs[2] = observable(security, transport, options)
	case slices.Equal(k.options, mqttOptions):
		_, errs[0] = mqttQoS(options)
	case slices.Equal(k.options, dpwsOptions):
		_, errs[0] = dpwsParams(options)
	case slices.Equal(k.options, phantomOptions):
		_, errs[0] = readWaits(options)
	}
	return cmp.Or(errs[:]...)
}
