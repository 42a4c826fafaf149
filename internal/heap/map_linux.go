package heap

import "golang.org/x/sys/unix"

// mapRange reserves n bytes. Their pages exist when they are written; they do not become huge ones,
// which could not be given back one chunk at a time.
func mapRange(n int) ([]byte, error) {
	m, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err == nil {
		_ = unix.Madvise(m, unix.MADV_NOHUGEPAGE) // a kernel without huge pages does not know it
	}
	return m, err
}

func unmapRange(m []byte) error { return unix.Munmap(m) }

// discard gives pages back; the next time they are looked at they are zero.
func discard(m []byte) {
	if unix.Madvise(m, unix.MADV_DONTNEED) != nil {
		clear(m) // locked pages, say: they stay
	}
}
