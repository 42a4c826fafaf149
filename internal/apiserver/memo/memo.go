// Package memo remembers the answers of rules, so that the same question is asked once. It is bounded, and keyed by
// the content of the whole question.
//
//	question ──▶ form: what chance and the clock decide is left out ──▶ known? ──▶ template, filled in
//	                                                                     │ no
//	                                                                     ▼
//	                                     rules; at the second time also with two other sets of values
//
// A server that creates a hundred Pods from one template asks the same but for names, uids, versions and times.
// That they do no more than show up in the answer is not assumed. Rules are asked with three sets of values: if the
// three answers are not one text with those values in it, that form is never remembered. See [form] for the questions
// that have one; all others are remembered as they are.
package memo

import (
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// Ask is a function that answers as rules do.
type Ask func(*rules.Request) (*rules.Answer, error)

// Memory remembers answers. It is safe for concurrent use, and any number of servers may share it.
type Memory struct {
	size   int // the most bytes of one generation
	shapes shapes

	mu sync.Mutex
	// What is used moves to the young generation. When that is full, the old one is forgotten.
	young, old map[key]*template
	bytes      int // of the young generation
	// once has what was asked once, and is not remembered yet.
	once, onceOld map[key]struct{}
	hits, misses  uint64
}

// maxOnce is the most questions of a generation that were asked once.
const maxOnce = 1 << 15

// maxAnswer is the longest answer that is remembered.
const maxAnswer = 1 << 20

// New returns a memory that holds so many bytes of answers at most.
func New(size int) *Memory {
	return &Memory{size: size / 2, young: map[key]*template{}, once: map[key]struct{}{}}
}

// Over returns a function that answers as ask does, and asks it only what is not known.
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

// Counts returns how many questions were answered from memory, and how many were not.
func (m *Memory) Counts() (hits, misses uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.hits, m.misses
}

// find returns what is known of a question: a template, or whether it was asked before.
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
