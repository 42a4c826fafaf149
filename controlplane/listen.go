package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// Ports below the range that systems give to outgoing connections: a port
// from that range may be taken by one when we want it back after a restart.
const firstPort, lastPort = 20000, 32000

// listen opens the API server's port on the loopback address and notes it
// in portFile. Port 0 is the noted port, if there is one, else a free one.
func listen(port int, portFile string) (net.Listener, error) {
	if port == 0 {
		if data, err := os.ReadFile(portFile); err == nil {
			if port, err = strconv.Atoi(strings.TrimSpace(string(data))); err != nil {
				return nil, fmt.Errorf("%s: %w", portFile, err)
			}
		}
	}
	ln, err := open(port)
	if err != nil {
		return nil, err
	}
	port = ln.Addr().(*net.TCPAddr).Port
	if err := os.WriteFile(portFile, []byte(strconv.Itoa(port)+"\n"), 0o600); err != nil {
		ln.Close()
		return nil, err
	}
	return ln, nil
}

func open(port int) (net.Listener, error) {
	on := func(port int) (net.Listener, error) {
		return net.Listen("tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	}
	if port != 0 {
		return on(port)
	}
	for range 50 {
		ln, err := on(firstPort + rand.IntN(lastPort-firstPort))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return ln, err
		}
	}
	return on(0)
}

// lockDir takes a data directory for this process; the kernel gives it back
// when the process ends, however it ends.
func lockDir(dir string) (unlock func(), err error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		d.Close()
		return nil, fmt.Errorf("data directory %s is in use by another control plane: %w", dir, err)
	}
	return func() { d.Close() }, nil
}
