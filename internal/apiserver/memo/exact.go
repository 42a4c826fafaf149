package memo

import (
	"crypto/sha256"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Exact remembers answers by the whole question, values included. Simulations ask like that: their time, uids and
// versions begin anew in each run. It costs less than a form, and knows no question that it could not remember. It is
// safe for concurrent use.
type Exact struct {
	size int // bounds the bytes of one generation

	mu         sync.Mutex
	young, old map[[sha256.Size]byte]*rules.Answer
	bytes      int // of the young generation
}

// NewExact returns a memory of about size bytes of answers.
func NewExact(size int) *Exact {
	return &Exact{size: size / 2, young: map[[sha256.Size]byte]*rules.Answer{}}
}

// Over returns a function that answers as ask does, and calls ask only for questions that are new. An error is not
// remembered.
func (e *Exact) Over(ask Ask) Ask {
	return func(req *rules.Request) (*rules.Answer, error) {
		buf := buffers.Get().(*[]byte)
		text, err := rules.AppendMessage((*buf)[:0], req)
		if err != nil {
			return ask(req)
		}
		k := sha256.Sum256(text)
		*buf = text
		buffers.Put(buf)
		if a := e.find(k); a != nil {
			return a, nil
		}
		a, err := ask(req)
		if err == nil {
			e.keep(k, a)
		}
		return a, err
	}
}

func (e *Exact) find(k [sha256.Size]byte) *rules.Answer {
	e.mu.Lock()
	defer e.mu.Unlock()
	a := e.young[k]
	if a == nil {
		if a = e.old[k]; a != nil {
			e.add(k, a)
		}
	}
	return a
}

func (e *Exact) keep(k [sha256.Size]byte, a *rules.Answer) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.add(k, a)
}

// add adds to the young generation. The caller holds the lock.
func (e *Exact) add(k [sha256.Size]byte, a *rules.Answer) {
	if e.bytes > e.size {
		e.young, e.old, e.bytes = map[[sha256.Size]byte]*rules.Answer{}, e.young, 0
	}
	e.young[k] = a
	e.bytes += weight + len(a.Body)
	for _, w := range a.Writes {
		e.bytes += len(w.Object) + len(w.Shown)
	}
}

// weight is about what an answer takes besides its texts.
const weight = 512
