package plane

import "syscall"

// childAttr puts the child into a process group of its own, so that a Ctrl-C
// reaches only us, who stop it in order. When we die it notices by its
// standard input; if it is paused then, the kernel wakes it, because its
// group is orphaned.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
