package device

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// An order tells a supervisor what to start. It comes with the files that become the
// program's stdin and stdout and, where there is a log, stderr.
type order struct {
	Argv  []string `json:"argv"`
	Dir   string   `json:"dir"` // empty: the lab's
	Env   []string `json:"env"` // all of it
	CPUs  []int    `json:"cpus"`
	Group string   `json:"group"` // control group, by which the lab finds the program even if its supervisor is killed
}

// send gives the supervisor at the other end its order. The files go with its first byte
// (unix(7), SCM_RIGHTS).
func (o order) send(control *os.File, files ...*os.File) error {
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	fds := make([]int, 0, len(files))
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	c, err := control.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = c.Write(func(fd uintptr) bool {
		sent = unix.Sendmsg(int(fd), []byte(" "), unix.UnixRights(fds...), nil, unix.MSG_NOSIGNAL)
		return !errors.Is(sent, unix.EAGAIN)
	})
	if err = errors.Join(err, sent); err != nil {
		return err
	}
	_, err = control.Write(append(text, '\n'))
	return err
}

// receiveOrder waits for an order, and puts its files in place. io.EOF: none comes.
func receiveOrder(control *os.File) (o order, err error) {
	first, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(3*4))
	n, got, err := 0, 0, error(unix.EINTR)
	for errors.Is(err, unix.EINTR) {
		n, got, _, _, err = unix.Recvmsg(controlFD, first, rights, unix.MSG_CMSG_CLOEXEC)
	}
	switch {
	case err != nil:
		return o, err
	case n == 0:
		return o, io.EOF
	}
	all, err := unix.ParseSocketControlMessage(rights[:got])
	if err != nil {
		return o, err
	}
	for i := range all {
		fds, err := unix.ParseUnixRights(&all[i])
		if err != nil {
			return o, err
		}
		for to, fd := range fds {
			if err := unix.Dup3(fd, to, 0); err != nil {
				return o, err
			}
			unix.Close(fd)
		}
	}
	// What this reads ahead is the lab's silence: it says nothing more until it knows how the program ended.
	text, err := bufio.NewReader(control).ReadBytes('\n')
	if err != nil {
		return o, err
	}
	return o, json.Unmarshal(text, &o)
}
