package reference

import "cmp"

// An optionCheck says why programs refuse options.
type optionCheck func(security, transport string, options map[string]string) error

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

func coapRefuses(security, transport string, options map[string]string) error {
	_, err := unconfirmable(options)
	_, err2 := connectionID(security, options)
	_, err3 := observable(security, transport, options)
	return cmp.Or(err, err2, err3)
}

func mqttRefuses(_, _ string, options map[string]string) error {
	_, err := mqttQoS(options)
	return err
}

func dpwsRefuses(_, _ string, options map[string]string) error {
	_, err := dpwsParams(options)
	return err
}

func phantomRefuses(_, _ string, options map[string]string) error {
	_, err := readWaits(options)
	return err
}
