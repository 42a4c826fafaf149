package control

import (
	"fmt"
	"runtime"
	"strings"
	"time"
)

// trouble is an object that a controller cannot reconcile. It may be one that no server would store, from a file with a
// state. Without a key it is the controller that does not work.
type trouble struct{ key, text string }

// afterPanic is the time until the controllers begin anew after one has panicked that is not [Keyed].
const afterPanic = time.Second

// maxTold bounds the lines about troubles. Equal ones are reported once.
const maxTold = 100

// troubleOf describes a panic, for a deferred function that has recovered it.
func troubleOf(key string, p any) trouble {
	text := fmt.Sprintf("panic: %v", p)
	pc := make([]uintptr, 32)
	frames := runtime.CallersFrames(pc[:runtime.Callers(3, pc)])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if !strings.HasPrefix(f.Function, "runtime.") {
			text += fmt.Sprintf(", at %s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
			break
		}
	}
	return trouble{key, text}
}

// guarded steps a controller. It reports false if the controller has panicked as a whole.
func (s *Set) guarded(now time.Time, c Controller, changes []Change) (made []Request, due time.Time, ok bool) {
	defer func() {
		if p := recover(); p != nil {
			s.report(c, troubleOf("", p))
			made, due, ok = nil, time.Time{}, false
		}
	}()
	made, due = c.Step(now, s.state, changes)
	if k, keyed := c.(interface{ troubled() []trouble }); keyed {
		for _, p := range k.troubled() {
			s.report(c, p)
		}
	}
	return made, due, true
}

// report tells people of a trouble, once.
func (s *Set) report(c Controller, p trouble) {
	if s.options.Report == nil {
		return
	}
	line := fmt.Sprintf("the controller %q failed: %s: it begins anew in %v", c.Name(), p.text, afterPanic)
	if p.key != "" {
		line = fmt.Sprintf("the controller %q cannot reconcile %s: %s: the object is left alone until it changes", c.Name(), p.key, p.text)
	}
	if s.told[line] || len(s.told) >= maxTold {
		return
	}
	if s.told == nil {
		s.told = map[string]bool{}
	}
	s.told[line] = true
	s.options.Report(line)
}
