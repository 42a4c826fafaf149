//go:build linux || darwin

package plane

import (
	"os"
	"syscall"
	"unsafe"
)

// idTypePID is P_PID of waitid(2).
const idTypePID = 1

// stopAndAwait sends SIGSTOP and returns when all threads of the child have stopped. It fails if
// the child has ended, and leaves the exit status for Wait.
func stopAndAwait(child *os.Process) error {
	if err := child.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var info [128]byte
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, idTypePID, uintptr(child.Pid),
			uintptr(unsafe.Pointer(&info)), syscall.WSTOPPED|syscall.WNOWAIT, 0, 0)
		switch e {
		case 0:
			return nil
		case syscall.EINTR:
		default:
			return os.NewSyscallError("waitid", e)
		}
	}
}

// resume continues a stopped child.
func resume(child *os.Process) error { return child.Signal(syscall.SIGCONT) }

// tryLock tries to lock an open file, and reports whether it succeeded. The kernel releases the
// lock when the file is closed or the process ends.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
