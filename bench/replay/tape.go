package replay

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/flyball-io/flyball/bench/corpus"
)

// Plan is what happens to a corpus after its first list. Step k is one event.
type Plan struct {
	// Events is how many there are.
	Events int
	// Keys is how many objects, the first of the corpus, change in turn. Zero: all.
	Keys int
	// Churn says that objects are deleted and new ones are created instead: in turn, so that there
	// are as many as before.
	Churn bool
}

// step is event k: what it is called, which object it is about, and how often that has changed
// then.
func (p Plan) step(s corpus.Spec, k int) (event string, object, changes int) {
	keys := p.Keys
	if keys == 0 || keys > s.Objects {
		keys = s.Objects
	}
	switch {
	case p.Churn && k%2 == 0:
		return "DELETED", k / 2, 0
	case p.Churn:
		return "ADDED", s.Objects + k/2, 0
	}
	// Not one after another as they were made: neighbours are alike.
	return "MODIFIED", k * stride(keys) % keys, 1 + k/keys
}

// stride is a number without a common divisor with n.
func stride(n int) int {
	for _, p := range []int{7919, 104729, 1299709} {
		if n%p != 0 {
			return p
		}
	}
	return 1
}

// Tape is a corpus and a plan, encoded. It is read only and may be used from any goroutine.
type Tape struct {
	spec corpus.Spec
	plan Plan
	form Form

	data []byte
	ends []uint64 // where each message ends: first the objects, then the events
}

func (t *Tape) message(i int) []byte {
	start := uint64(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.data[start:t.ends[i]]
}

func (t *Tape) event(k int) (event string, message []byte) {
	event, _, _ = t.plan.step(t.spec, k)
	return event, t.message(t.spec.Objects + k)
}

// Bytes is how many bytes all objects of the first list have.
func (t *Tape) Bytes() int {
	if t.spec.Objects == 0 {
		return 0
	}
	return int(t.ends[t.spec.Objects-1])
}

// ContentType is how a client has to ask for what is on the tape.
func (t *Tape) ContentType() string { return t.form.contentType(false) }

// Close gives the memory back. Nobody may read any more.
func (t *Tape) Close() error { return unix.Munmap(t.data[:cap(t.data)]) }

// Record makes a tape, or takes the one that was made before, in dir. Progress is told how many
// messages are done; nil: nobody is.
func Record(ctx context.Context, dir string, s corpus.Spec, p Plan, f Form, progress func(done, of int)) (*Tape, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	if p.Churn && p.Events/2 > s.Objects {
		return nil, fmt.Errorf("events: %d are more than there are objects to delete", p.Events)
	}
	id, err := json.Marshal(struct {
		corpus.Spec
		Plan
		Form
		Format int
	}{s, p, f, 2})
	if err != nil {
		return nil, err
	}
	sum := fnv.New128a()
	sum.Write(id)
	name := filepath.Join(dir, fmt.Sprintf("%s-%s-%s", s.Kind, f, hex.EncodeToString(sum.Sum(nil))))
	if _, err := os.Stat(name); err != nil {
		if err := record(ctx, name, s, p, f, progress); err != nil {
			return nil, fmt.Errorf("recording %s: %w", s.Kind, err)
		}
	}
	return open(name, s, p, f)
}

// record writes the messages, then where each ends.
func record(ctx context.Context, name string, s corpus.Spec, p Plan, f Form, progress func(done, of int)) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(name), ".tape-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	w := bufio.NewWriterSize(file, 1<<20)
	all := s.Objects + p.Events
	ends, end := make([]byte, 0, 8*all), uint64(0)
	err = inOrder(ctx, all, func(i int) ([]byte, error) {
		if i < s.Objects {
			return f.message(s.At(i), s.GVK())
		}
		_, object, changes := p.step(s, i-s.Objects)
		o := s.Changed(object, changes)
		o.SetResourceVersion(strconv.Itoa(s.Version() + 1 + i - s.Objects))
		return f.message(o, s.GVK())
	}, func(i int, message []byte) error {
		end += uint64(len(message))
		ends = binary.LittleEndian.AppendUint64(ends, end)
		if progress != nil && (i%10_000 == 0 || i == all-1) {
			progress(i+1, all)
		}
		_, err := w.Write(message)
		return err
	})
	if err != nil {
		return err
	}
	if _, err := w.Write(ends); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return os.Rename(file.Name(), name)
}

// inOrder makes n messages on all cores, and hands them to take in their order.
func inOrder(ctx context.Context, n int, produce func(i int) ([]byte, error), take func(i int, message []byte) error) error {
	const batch = 256
	type result struct {
		all [][]byte
		err error
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
					var e []byte
					e, r.err = produce(i)
					r.all = append(r.all, e)
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
		for _, e := range r.all {
			if err := take(i, e); err != nil {
				return err
			}
			i++
		}
	}
	return context.Cause(ctx)
}

func open(name string, s corpus.Spec, p Plan, f Form) (*Tape, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	t := &Tape{spec: s, plan: p, form: f}
	index := 8 * (s.Objects + p.Events)
	if info.Size() < int64(index) || info.Size() == 0 {
		return nil, fmt.Errorf("%s: too short", name)
	}
	t.data, err = unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	tail := t.data[len(t.data)-index:]
	for i := range s.Objects + p.Events {
		t.ends = append(t.ends, binary.LittleEndian.Uint64(tail[8*i:]))
	}
	return t, nil
}
