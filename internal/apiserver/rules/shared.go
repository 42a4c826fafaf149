//go:build linux || darwin

package rules

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
)

// found connects to the process that listens at the socket. errNobody is its error if there is none.
func found(o Options) (*conn, error) {
	if err := private(filepath.Dir(o.Socket)); err != nil {
		return nil, err
	}
	c, err := net.Dial("unix", o.Socket)
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
		return nil, errNobody
	}
	if err != nil {
		return nil, err
	}
	return newConn(c, c, o.Frame, func(err error) error {
		c.Close()
		return fmt.Errorf("the connection to the shared program ended: %w", err)
	}), nil
}

// shared connects to the process that listens at a socket, and starts it if there is none.
func shared(binary string, o Options) (*conn, error) {
	dir := filepath.Dir(o.Socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if c, err := found(o); !errors.Is(err, errNobody) {
		return c, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // unlocks
	if err := flock(lock); err != nil {
		return nil, err
	}
	if c, err := found(o); !errors.Is(err, errNobody) { // another one has started it meanwhile
		return c, err
	}
	if err := start(binary, o); err != nil {
		return nil, err
	}
	return found(o)
}

// start starts a process that listens. Connections are queued until it accepts them, so nobody waits for it.
func start(binary string, o Options) error {
	if err := os.Remove(o.Socket); err != nil && !errors.Is(err, fs.ErrNotExist) { // that of a process that was killed
		return err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: o.Socket, Net: "unix"})
	if err != nil {
		return err
	}
	defer l.Close()
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(o.Socket, 0o600); err != nil {
		return err
	}
	f, err := l.File()
	if err != nil {
		return err
	}
	defer f.Close()
	// The shell ends at once, so the process is nobody's child. It has a session, a folder and an environment of its
	// own: signals to the process that has started it do not reach it.
	cmd := exec.Command("/bin/sh", "-c", `"$0" -listen "$1" -idle "$2" -frame "$3" <&3 3<&- &`, binary, o.Socket, o.Idle.String(), strconv.Itoa(o.Frame))
	cmd.ExtraFiles = []*os.File{f}
	cmd.Env, cmd.Dir = []string{}, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd.Run()
}

// private checks that nobody but this user can put files into a folder.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return errNobody
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || info.Mode().Perm()&0o077 != 0 || int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this user alone", dir)
	}
	return nil
}

// flock waits for the lock of a file.
func flock(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
