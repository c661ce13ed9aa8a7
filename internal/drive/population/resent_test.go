package population

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"edgegauge.example/edgegauge/internal/kernel"
)

// A server whose queue of connections is full drops those that come: TCP sends again after a
// second, and the devices count what the kernel does.
func TestSegmentsSentAgainAreCounted(t *testing.T) {
	t.Parallel()
	ns, err := kernel.NewNetwork()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	err = kernel.InNetwork(ns, func() error {
		if err := up(); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 1))
		if err != nil {
			return err
		}
		at, err := unix.Getsockname(fd)
		if err != nil {
			return err
		}
		s := sensors(20, time.Second, Random)
		s.Server = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(at.(*unix.SockaddrInet4).Port))
		s.Timeout, s.Request, s.Stream = 4*time.Second, []byte("data"), &Stream{Protocol: TCP, Answer: 4}
		p, err := New(s)
		if err != nil {
			return err
		}
		defer p.Close()
		before := counters(t, "Tcp")["RetransSegs"]
		r, err := p.Run(t.Context(), Load{For: 3 * time.Second})
		if err != nil {
			return err
		}
		if kernels := counters(t, "Tcp")["RetransSegs"] - before; r.Retransmissions != kernels || kernels == 0 {
			t.Errorf("the devices counted %d segments sent again, the kernel %d", r.Retransmissions, kernels)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// What the kernel does not say of a connection, as of one that is not of TCP, counts as not told, not as none; and what
// was not told before a run cannot be taken off in it.
func TestSegmentsThatNobodyTells(t *testing.T) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &connections{streams: &streams{core: &core{}, links: []link{{fd: int32(fd)}}}, before: map[int32]uint32{}}
	x.countResent(0)
	if x.ResentUntold != 1 || x.Retransmissions != 0 {
		t.Errorf("got %d not told, %d sent again", x.ResentUntold, x.Retransmissions)
	}
	unix.Close(fd)
	if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
		t.Fatal(err)
	}
	x.links[0].fd = int32(fd)
	x.countResent(0)
	if x.ResentUntold != 2 {
		t.Errorf("told now, and not before: got %d not told", x.ResentUntold)
	}
	x.countResent(0)
	if x.hang(0); x.ResentUntold != 2 || x.Retransmissions != 0 {
		t.Errorf("told both times: got %d not told, %d sent again", x.ResentUntold, x.Retransmissions)
	}
}
