// Package memo remembers answers of rules, so that equal questions are asked twice at most. It is bounded, and keyed
// by the content of the whole question.
//
//	question ──▶ form: a key, and values (uids, times, versions) ──▶ known? ──▶ template, filled in
//	                                                                  │ no
//	                                                                  ▼
//	                                  rules; the second time also with two other sets of values
//
// A test that runs again asks the same questions, at another time and version. The memory does not assume that these
// values only occur in the answer: it asks rules with three sets of values, and compares. If the answers differ in
// anything but the values, the form is never remembered.
package memo

import (
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Ask answers a question, as rules do. It must be a function of the question.
type Ask func(*rules.Request) (*rules.Answer, error)

// Memory remembers answers. It is safe for concurrent use, and any number of servers may share it.
type Memory struct {
	shapes shapes

	mu           sync.Mutex
	answers      generations[*template]
	once         generations[struct{}] // questions that were asked once
	hits, misses uint64
	file         *File // may be nil
}

// maxOnce bounds one generation of questions that were asked once.
const maxOnce = 1 << 15

// maxAnswer bounds the bytes of an answer that is remembered, and maxFirst those of an answer to [First] questions: that
// to the creation of a large definition contains it several times.
const (
	maxAnswer = 1 << 20
	maxFirst  = 32 << 20
)

// New returns a memory of at most size bytes of answers.
func New(size int) *Memory {
	return &Memory{answers: generations[*template]{size: size / 2}, once: generations[struct{}]{size: maxOnce}}
}

// Use takes a file for what the memory does not have, and adds to it. The caller owns the file; nil: none any more.
func (m *Memory) Use(f *File) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.file = f
}

// Again tells which questions come again in other processes, and so belong into a file.
type Again int

// What comes again.
const (
	// Creates: other questions contain the time, and uids that depend on it.
	Creates Again = iota
	// All: the time is virtual, and begins anew in each process.
	All
	// First: each process asks them, and few times. They are remembered when they are asked for the first time, and in
	// the file only.
	First
)

// Over returns a function that answers as ask does, and calls ask only for answers that are not remembered. It is safe
// for concurrent use if ask is.
func (m *Memory) Over(ask Ask, again Again) Ask {
	return func(req *rules.Request) (*rules.Answer, error) {
		f, ok := m.form(req)
		if !ok {
			return ask(req)
		}
		t, asked := m.find(&f, again)
		if t != nil && t.Never && again == All && f.values != nil { // the same question comes again
			f, _ = m.exact(req)
			t, asked = m.find(&f, again)
		}
		if t != nil && !t.Never {
			answer, err := t.fill(&f)
			if err == nil {
				m.count(&m.hits)
				return answer, nil
			}
		}
		m.count(&m.misses)
		answer, err := ask(req)
		if err != nil || !asked && again != First || t != nil {
			return answer, err
		}
		most := maxAnswer
		if again == First {
			most = maxFirst
		}
		learned := f // so that the other answers need no memory for f
		if t := newTemplate(&learned, req, answer, ask, most); t != nil {
			m.put(&learned, t, again)
		}
		return answer, nil
	}
}

func (m *Memory) count(n *uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*n++
}

// Counts returns how many questions were answered from memory, and how many others there were.
func (m *Memory) Counts() (hits, misses uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hits, m.misses
}

// inFile reports whether the answer to a question belongs into the file. One with credentials does not.
func (a Again) inFile(f *form) bool { return !f.secret && (f.create || a != Creates) }

// find returns the template for a question; nil if there is none. asked reports whether the question was asked before.
func (m *Memory) find(f *form, again Again) (t *template, asked bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t, asked = m.answers.find(f.key, (*template).size); asked {
		return t, true
	}
	file := m.file
	if !again.inFile(f) {
		file = nil
	}
	if file != nil {
		if t, asked = file.find(f.key); t != nil && again != First {
			m.answers.keep(f.key, t, t.size())
		}
	}
	if asked || again == First {
		return t, asked
	}
	if _, asked = m.once.find(f.key, one); asked {
		return nil, true
	}
	m.once.keep(f.key, struct{}{}, 1)
	if file != nil {
		file.mark(f.key)
	}
	return nil, false
}

func one(struct{}) int { return 1 }

func (m *Memory) put(f *form, t *template, again Again) {
	m.mu.Lock()
	file := m.file
	if again != First {
		m.answers.keep(f.key, t, t.size())
	}
	m.mu.Unlock()
	if file != nil && again.inFile(f) {
		file.add(f.key, t)
	}
}
