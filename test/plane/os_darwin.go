package plane

import "syscall"

// childAttr puts the child into its own process group, so that Ctrl-C reaches only this process,
// which stops the child in order. If this process dies, the child sees the end of its standard
// input. A paused child is resumed by the kernel first, because its group is orphaned.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
