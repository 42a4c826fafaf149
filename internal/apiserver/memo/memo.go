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
	size   int // the most bytes of one generation
	shapes shapes

	mu sync.Mutex
	// A template that is used moves to the young generation. When that is full, the old one is dropped.
	young, old map[key]*template
	bytes      int // of the young generation
	// once and onceOld have the keys of questions that were asked once: two generations, too.
	once, onceOld map[key]struct{}
	hits, misses  uint64
}

// maxOnce bounds one generation of questions that were asked once.
const maxOnce = 1 << 15

// maxAnswer bounds the bytes of an answer that is remembered.
const maxAnswer = 1 << 20

// New returns a memory of at most size bytes of answers.
func New(size int) *Memory {
	return &Memory{size: size / 2, young: map[key]*template{}, once: map[key]struct{}{}}
}

// Over returns a function that answers as ask does, and calls ask only for answers that are not remembered. It is safe
// for concurrent use if ask is.
func (m *Memory) Over(ask Ask) Ask {
	return func(req *rules.Request) (*rules.Answer, error) {
		f, ok := m.form(req)
		if !ok {
			return ask(req)
		}
		t, again := m.find(f)
		if t != nil && t.fits(f) {
			return t.fill(f), nil
		}
		answer, err := ask(req)
		if err != nil || !again || t != nil {
			return answer, err
		}
		if t := learn(f, req, answer, ask); t != nil {
			m.put(f.key, t)
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

// find returns the template for a question; nil if there is none. again reports whether the question was asked before.
func (m *Memory) find(f *form) (t *template, again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := f.key
	if t = m.young[k]; t == nil {
		if t = m.old[k]; t != nil {
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
	_, again = m.once[k]
	if _, ok := m.onceOld[k]; ok {
		again = true
	}
	if !again {
		if len(m.once) >= maxOnce {
			m.once, m.onceOld = map[key]struct{}{}, m.once
		}
		m.once[k] = struct{}{}
	}
	return nil, again
}

func (m *Memory) put(k key, t *template) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.keep(k, t)
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
