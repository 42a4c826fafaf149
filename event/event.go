package event

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
)

// Type says whether a person should worry.
type Type string

const (
	// Normal tells that something happened as it should.
	Normal Type = Type(corev1.EventTypeNormal)
	// Warning tells that something did not work.
	Warning Type = Type(corev1.EventTypeWarning)
)

// Event is one thing that happened. What does not fit the limits of the API is cut.
type Event struct {
	// Regarding is the object that it happened to. The event lives in its namespace, or in
	// "default" if it has none.
	Regarding corev1.ObjectReference
	// Related is a second object that took part; nil: none.
	Related *corev1.ObjectReference
	// Type is Normal or Warning; anything else is Normal.
	Type Type
	// Reason is one word for why it happened: "FailedMount". At most 128 bytes. Empty: "Unknown".
	Reason string
	// Action is one word for what was done or tried: "Mounting". At most 128 bytes. Empty: Reason.
	Action string
	// Note is the sentence for people. At most 1024 bytes. Of a series it is that of the first.
	Note string
}

// The limits of the API server, in bytes.
const (
	maxWord = 128
	maxNote = 1024
	maxName = 253
)

// fit makes an event such that the API server accepts it.
func (e Event) fit() Event {
	if e.Type != Warning {
		e.Type = Normal
	}
	e.Reason = cut(e.Reason, maxWord)
	if e.Reason == "" {
		e.Reason = "Unknown"
	}
	e.Action = cut(e.Action, maxWord)
	if e.Action == "" {
		e.Action = e.Reason
	}
	e.Note = cut(e.Note, maxNote)
	return e
}

const ellipsis = "…"

// cut makes s valid UTF-8 of at most n bytes. It ends in an ellipsis if something is missing.
func cut(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	missing := len(s) > 2*n // no need to look at all of it
	if missing {
		s = s[:2*n]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= n && !missing {
		return s
	}
	end := min(n-len(ellipsis), len(s))
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + ellipsis
}

// key tells which events are of one series.
type key struct {
	regarding, related corev1.ObjectReference
	typ                Type
	reason, action     string
}

func (e *Event) key() key {
	k := key{regarding: e.Regarding, typ: e.Type, reason: e.Reason, action: e.Action}
	if e.Related != nil {
		k.related = *e.Related
	}
	// The version of an object changes all the time; it is the same object.
	k.regarding.ResourceVersion, k.related.ResourceVersion = "", ""
	return k
}

// name makes a name for the object of an event: that of the object it is regarding, as far as it
// fits, and something that is not used twice.
func name(regarding string, now time.Time, n uint64) string {
	suffix := "." + strconv.FormatUint(uint64(now.UnixNano())+n, 16)
	if len(regarding) > maxName-len(suffix) {
		regarding = regarding[:maxName-len(suffix)]
	}
	regarding = strings.TrimRight(regarding, "-.")
	if len(validation.NameIsDNSSubdomain(regarding, false)) > 0 {
		regarding = "event"
	}
	return regarding + suffix
}
