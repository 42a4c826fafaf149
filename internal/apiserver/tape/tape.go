// Package tape has the answers of rules to a program that always asks the same: a demonstration, for instance. Such a
// program starts without the rules program, which takes minutes to build.
//
//	Record:  server ──▶ Tape ──▶ rules        all answers go into the tape
//	Replay:  server ──▶ Tape                  a question that it does not have is missed
//	Compare: server ──▶ Tape ──▶ rules        both answer, and differences are told
//
// The program has to ask the same at each run, byte for byte: its clock, its seed and the order of its writes must not
// differ. What a client chooses by itself for an Event is left out, see [events].
package tape

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/flyball-io/flyball/internal/apiserver/memo"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
)

// ErrMissed is the error of a question that a tape does not answer.
var ErrMissed = errors.New("this was not recorded")

// Tape answers the questions of one server at a time. It is safe for concurrent use.
type Tape struct {
	missed func(*rules.Request)         // nil unless the tape replays
	differ func(*rules.Request, string) // nil unless it compares

	mu      sync.Mutex
	answers map[key][]byte // messages
	events  events
}

// key is the hash of a question.
type key [sha256.Size]byte

// Record returns a tape that takes all answers of the rules. [Tape.Bytes] returns them.
func Record() *Tape { return &Tape{answers: map[key][]byte{}} }

// Replay returns a tape that needs no rules. missed is called with each question that has no answer; it must not block.
// The error says that the data is no tape.
func Replay(data []byte, missed func(*rules.Request)) (*Tape, error) {
	answers, err := parse(data)
	return &Tape{answers: answers, missed: missed}, err
}

// Compare returns a tape that answers as the rules do, and calls differ for each question to which its own answer is
// another one, or none. The description is for people. differ may be called concurrently.
func Compare(data []byte, differ func(req *rules.Request, problem string)) (*Tape, error) {
	answers, err := parse(data)
	return &Tape{answers: answers, differ: differ}, err
}

// Replays reports whether the tape needs no rules.
func (t *Tape) Replays() bool { return t.missed != nil }

// Over returns a function that answers a server. ask asks the rules; it may be nil for a tape that replays. The tape must
// not answer another server yet.
func (t *Tape) Over(ask memo.Ask) memo.Ask {
	t.events.forget()
	return func(req *rules.Request) (*rules.Answer, error) {
		req, restore := t.events.steady(untimed(req))
		answer, err := t.answer(req, ask)
		if err != nil {
			return nil, err
		}
		return restore(answer), nil
	}
}

// untimed returns a question about one object as it is asked at any time: its answer has no time and no version but those
// of the object. Tables have ages.
func untimed(req *rules.Request) *rules.Request {
	if req.Method != http.MethodGet || req.Collection != nil || strings.Contains(req.Accept, "as=Table") {
		return req
	}
	out := *req
	out.Version, out.Now = 1, 0
	return &out
}

func (t *Tape) answer(req *rules.Request, ask memo.Ask) (*rules.Answer, error) {
	question, err := rules.AppendMessage(nil, req)
	if err != nil {
		return nil, err
	}
	k := key(sha256.Sum256(question))
	t.mu.Lock()
	known, ok := t.answers[k]
	t.mu.Unlock()
	if t.Replays() {
		if !ok {
			t.missed(req)
			return nil, ErrMissed
		}
		return parseAnswer(known)
	}
	answer, err := ask(req)
	if err != nil {
		return nil, err
	}
	text, err := rules.AppendMessage(nil, answer)
	if err != nil {
		return nil, err
	}
	switch {
	case t.differ == nil:
		t.mu.Lock()
		defer t.mu.Unlock()
		t.answers[k] = text
	case !ok:
		t.differ(req, ErrMissed.Error())
	case !bytes.Equal(known, text) && !(req.Bootstrap && len(known) == len(text)): // the first objects have uids by chance
		i := 0
		for i < min(len(text), len(known)) && text[i] == known[i] {
			i++
		}
		around := func(b []byte) []byte { return b[max(0, i-60):min(len(b), i+60)] }
		t.differ(req, fmt.Sprintf("the answer is now %q, and was %q", around(text), around(known)))
	}
	return parseAnswer(text)
}

func parseAnswer(text []byte) (*rules.Answer, error) {
	answer := &rules.Answer{}
	return answer, rules.ParseMessage(bytes.Clone(text), answer)
}

type contextKey struct{}

// Into returns a context that passes a tape to a new server.
func Into(ctx context.Context, t *Tape) context.Context {
	return context.WithValue(ctx, contextKey{}, t)
}

// From returns the tape of a context; nil if it has none.
func From(ctx context.Context) *Tape {
	t, _ := ctx.Value(contextKey{}).(*Tape)
	return t
}
