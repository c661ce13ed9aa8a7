package link

import (
	"errors"
	"fmt"
	"os"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// ends are the two namespaces of a link in its process, the client's first.
type ends struct {
	ns    [2]*os.File
	given [2]bool
}

func (w word) ends(files []*os.File) (*ends, error) {
	e := &ends{given: w.Given}
	for i, given := range w.Given {
		if !given {
			continue
		}
		if len(files) == 0 {
			return nil, errors.New("the lab gave no namespace to join")
		}
		e.ns[i], files = files[0], files[1:]
	}
	return e, nil
}

// make makes those that are not given, and readies those that are.
func (e *ends) make() (err error) {
	for i := range e.ns {
		if !e.given[i] {
			if e.ns[i], err = kernel.NewNetwork(); err != nil {
				return err
			}
			continue
		}
		if err := errors.Join(cut(e.ns[i]), kernel.InNetwork(e.ns[i], passOn)); err != nil {
			return err
		}
	}
	return nil
}

// clear takes what lies in given namespaces, which outlive this process. A TUN
// interface goes by itself, one of a veth pair does not.
func (e *ends) clear() {
	for i, given := range e.given {
		if given && e.ns[i] != nil {
			cut(e.ns[i])
		}
	}
}

// cut removes the link's interface from a namespace, where there is one: a link
// that was killed may have left it.
func cut(ns *os.File) error {
	nl, err := netlink.NewHandleAt(netns.NsHandle(ns.Fd()), unix.NETLINK_ROUTE)
	if err != nil {
		return kernel.NetworkDenied("configure the namespace", err)
	}
	defer nl.Close()
	dev, err := nl.LinkByName(Interface)
	if _, none := errors.AsType[netlink.LinkNotFoundError](err); none {
		return nil
	}
	if err != nil {
		return err
	}
	return nl.LinkDel(dev)
}

// passOn makes the kernel pass packets on between the interfaces of the calling
// thread's namespace.
func passOn() error {
	for _, file := range []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"} {
		if err := os.WriteFile(file, []byte("1"), 0); err != nil {
			return fmt.Errorf("forward packets between a machine and the link: %w; in a container, start it with: --privileged",
				err)
		}
	}
	return nil
}
