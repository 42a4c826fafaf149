package plane

import "syscall"

// childAttr puts the child into its own session, so that Ctrl-C reaches only this process,
// which stops the child in order. With autogroup, which most distributions turn on, the kernel
// shares the processors out to sessions first: busy processes of this one do not starve the child.
// If this process dies, the child sees the end of its standard input. A paused child is resumed by
// the kernel first.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}
}
