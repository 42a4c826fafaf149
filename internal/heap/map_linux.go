package heap

import "golang.org/x/sys/unix"

// mapMemory returns n bytes outside the Go heap. Their pages exist when they are written, and do not
// become huge ones, which would exist whole.
func mapMemory(n int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil {
		_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // a kernel without huge pages does not know it
	}
	return m, err
}

// unmapMemory gives them back. A process that has all the mappings it may have cannot cut one in two:
// then only the pages go.
func unmapMemory(m []byte) {
	if unix.Munmap(m) != nil {
		_ = unix.Madvise(m, unix.MADV_DONTNEED)
	}
}
