package main

import (
	"sync"
	"unicode/utf8"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// The lengths of warnings, in runes. If all of them are longer together than maxWarnings, each is cut to maxWarning, and
// those that come when maxWarnings have been written are left out.
const (
	maxWarnings = 4096
	maxWarning  = 256
)

// warnings collects the warnings of one request: each text once, and none that a header cannot have.
type warnings struct {
	mu    sync.Mutex
	known map[string]bool
	texts []string
	cut   bool // whether texts are cut
	runes int  // in texts
}

func (w *warnings) AddWarning(_, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if text == "" || w.cut && w.runes >= maxWarnings || w.known[text] {
		return
	}
	if w.known == nil {
		w.known = map[string]bool{}
	}
	w.known[text] = true
	if _, err := utilnet.NewWarningHeader(299, "", text); err != nil {
		return
	}
	w.texts = append(w.texts, text)
	w.runes += utf8.RuneCountInString(text)
	switch last := len(w.texts) - 1; {
	case w.cut:
		w.runes -= w.shorten(last)
	case w.runes > maxWarnings:
		w.cut = true
		for i := range w.texts {
			w.runes -= w.shorten(i)
		}
	}
}

// shorten cuts a text, and returns by how many runes.
func (w *warnings) shorten(i int) int {
	runes := []rune(w.texts[i])
	if len(runes) <= maxWarning {
		return 0
	}
	w.texts[i] = string(runes[:maxWarning])
	return len(runes) - maxWarning
}
