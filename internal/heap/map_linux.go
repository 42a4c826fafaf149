package heap

import "golang.org/x/sys/unix"

// mapMemory returns n bytes outside the Go heap. Pages are allocated on first write. Huge pages are
// off, since each would be allocated whole.
func mapMemory(n int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil {
		_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // fails on a kernel without huge pages, harmlessly
	}
	return m, err
}

// unmapMemory frees the bytes. A process at its limit of mappings cannot split one; then only the
// pages are freed.
func unmapMemory(m []byte) {
	if unix.Munmap(m) != nil {
		_ = unix.Madvise(m, unix.MADV_DONTNEED)
	}
}
