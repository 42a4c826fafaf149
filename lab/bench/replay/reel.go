package replay

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// reel is a mapped file of messages: the messages one after another, then a mark for each. It is
// immutable and safe for concurrent use.
type reel struct {
	data  []byte
	marks []mark
}

func (r *reel) message(i int) []byte {
	start := uint64(0)
	if i > 0 {
		start = r.marks[i-1].End
	}
	return r.data[start:r.marks[i].End]
}

// touch reads a byte of each page that holds messages from one to before another.
func (r *reel) touch(from, to int) (sum byte) {
	if to = min(to, len(r.marks)); from >= to {
		return 0
	}
	begin := 0
	if from > 0 {
		begin = int(r.marks[from-1].End)
	}
	for i := begin; i < int(r.marks[to-1].End); i += os.Getpagesize() {
		sum += r.data[i]
	}
	return sum
}

func (r *reel) close() error { return unix.Munmap(r.data[:cap(r.data)]) }

// openReel opens the n messages that were recorded under a name, or records them.
func openReel(ctx context.Context, name string, n int, progress func(done, of int), produce func(i int) ([]byte, mark, error)) (*reel, error) {
	if _, err := os.Stat(name); errors.Is(err, os.ErrNotExist) {
		if err := writeReel(ctx, name, n, progress, produce); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	index := n * markSize
	if info.Size() < int64(index) || info.Size() == 0 {
		return nil, fmt.Errorf("%s: too short; delete it", name)
	}
	r := &reel{marks: make([]mark, n)}
	if r.data, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return r, binary.Read(bytes.NewReader(r.data[len(r.data)-index:]), binary.LittleEndian, r.marks)
}

func writeReel(ctx context.Context, name string, n int, progress func(done, of int), produce func(i int) ([]byte, mark, error)) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".reel-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	marks, end := make([]mark, 0, n), uint64(0)
	err = inOrder(ctx, n, produce, func(i int, message []byte, m mark) error {
		end += uint64(len(message))
		m.End = end
		marks = append(marks, m)
		if progress != nil && (i%10_000 == 0 || i == n-1) {
			progress(i+1, n)
		}
		_, err := w.Write(message)
		return err
	})
	if err != nil {
		return err
	}
	if err := binary.Write(w, binary.LittleEndian, marks); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// inOrder makes n messages on all cores, and passes them to take in order.
func inOrder(ctx context.Context, n int, produce func(i int) ([]byte, mark, error), take func(i int, message []byte, m mark) error) error {
	const batch = 256
	type result struct {
		messages [][]byte
		marks    []mark
		err      error
	}
	ctx, cancel := context.WithCancel(ctx)
	var workers sync.WaitGroup
	defer workers.Wait()
	defer cancel()
	slots := make(chan chan result, 2*runtime.GOMAXPROCS(0))
	workers.Go(func() {
		defer close(slots)
		for at := 0; at < n; at += batch {
			slot := make(chan result, 1)
			select {
			case slots <- slot:
			case <-ctx.Done():
				return
			}
			workers.Go(func() {
				var r result
				for i := at; i < min(at+batch, n) && r.err == nil; i++ {
					var b []byte
					var m mark
					b, m, r.err = produce(i)
					r.messages, r.marks = append(r.messages, b), append(r.marks, m)
				}
				slot <- r
			})
		}
	})
	i := 0
	for slot := range slots {
		r := <-slot
		if r.err != nil {
			return r.err
		}
		for k, b := range r.messages {
			if err := take(i, b, r.marks[k]); err != nil {
				return err
			}
			i++
		}
	}
	return context.Cause(ctx)
}
