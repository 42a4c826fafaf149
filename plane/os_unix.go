//go:build linux || darwin

package plane

import (
	"os"
	"syscall"
	"unsafe"
)

// idTypePID is P_PID of waitid(2).
const idTypePID = 1

// stopAndAwait sends SIGSTOP and returns when all threads of the child stand
// still. It fails when the child has ended. It leaves the child's exit status
// for who waits for it.
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

// resume lets a stopped child go on.
func resume(child *os.Process) error { return child.Signal(syscall.SIGCONT) }

// tryLock takes a lock on an open file, which the kernel gives back when the
// file is closed or the process ends. It reports whether it got it.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}
