// Package memo remembers answers of rules, so that equal questions are asked twice at most. It is bounded, and keyed
// by the content of the whole question.
//
//	question ──▶ form: a key, and values (name, uid, time, version) ──▶ known? ──▶ template, filled in
//	                                                                     │ no
//	                                                                     ▼
//	                                     rules; the second time also with two other sets of values
//
// A server that creates a hundred Pods from one template asks a hundred questions that differ only in names, uids,
// versions and times. The memory does not assume that these values only occur in the answer: it asks rules with three
// sets of values, and compares. If the answers differ in anything but the values, the form is never remembered.
package memo

import (
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Ask answers a question, as rules do. It must be a function of the question.
type Ask func(*rules.Request) (*rules.Answer, error)

// Memory remembers answers. It is safe for concurrent use, and any number of servers may share it.
type Memory struct {
	size   int // bounds the bytes of one generation
	shapes shapes

	mu sync.Mutex
	// A template that is used moves to the young generation. When that is full, the old one is dropped.
	young, old map[key]*template
	bytes      int // of the young generation
	// once and onceOld have the keys of questions that were asked once: two generations, too.
	once, onceOld map[key]struct{}
	hits, misses  uint64
	file          *File // may be nil
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
	return &Memory{size: size / 2, young: map[key]*template{}, once: map[key]struct{}{}}
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
		if t != nil && t.fits(&f) {
			return t.fill(&f), nil
		}
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
	k := f.key
	if t = m.young[k]; t == nil {
		if t = m.old[k]; t != nil {
			m.keep(k, t)
		}
	}
	file := m.file
	if !again.inFile(f) {
		file = nil
	}
	if t == nil && file != nil {
		if t, asked = file.find(k); t != nil && again != First {
			m.keep(k, t)
		}
	}
	if t != nil && t.fits(f) {
		m.hits++
	} else {
		m.misses++
	}
	if t != nil {
		return t, true
	}
	_, young := m.once[k]
	_, old := m.onceOld[k]
	if asked = asked || young || old; asked {
		return nil, true
	}
	if again == First {
		return nil, false
	}
	if len(m.once) >= maxOnce {
		m.once, m.onceOld = map[key]struct{}{}, m.once
	}
	m.once[k] = struct{}{}
	if file != nil {
		file.mark(k)
	}
	return nil, false
}

func (m *Memory) put(f *form, t *template, again Again) {
	m.mu.Lock()
	file := m.file
	if again != First {
		m.keep(f.key, t)
	}
	m.mu.Unlock()
	if file != nil && again.inFile(f) {
		file.add(f.key, t)
	}
}

// keep adds a template to the young generation. The caller holds the lock.
func (m *Memory) keep(k key, t *template) {
	if _, known := m.young[k]; known {
		return
	}
	if m.bytes+t.size() > m.size {
		m.young, m.old, m.bytes = map[key]*template{}, m.young, 0
	}
	m.young[k] = t
	m.bytes += t.size()
}
