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
	mu      sync.Mutex
	answers generations[*rules.Answer]
}

// NewExact returns a memory of about size bytes of answers.
func NewExact(size int) *Exact { return &Exact{answers: generations[*rules.Answer]{size: size / 2}} }

// Over returns a function that answers as ask does, and calls ask only for questions that are new. An error is not
// remembered.
func (e *Exact) Over(ask Ask) Ask {
	return func(req *rules.Request) (*rules.Answer, error) {
		buf := buffers.Get().(*[]byte)
		text, err := rules.AppendMessage((*buf)[:0], req)
		if err != nil {
			return ask(req)
		}
		k := key(sha256.Sum256(text))
		*buf = text
		buffers.Put(buf)
		e.mu.Lock()
		a, ok := e.answers.find(k, sizeOf)
		e.mu.Unlock()
		if ok {
			return a, nil
		}
		if a, err = ask(req); err == nil {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.answers.keep(k, a, sizeOf(a))
		}
		return a, err
	}
}

// sizeOf returns about the bytes of an answer.
func sizeOf(a *rules.Answer) int {
	n := 512 + len(a.Body)
	for _, w := range a.Writes {
		n += len(w.Object) + len(w.Shown)
	}
	return n
}
