package event

import (
	"cmp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validation"
)

// Type tells whether a person should act.
type Type string

const (
	// Normal reports something that happened as intended.
	Normal Type = Type(corev1.EventTypeNormal)
	// Warning reports a failure.
	Warning Type = Type(corev1.EventTypeWarning)
)

// Event is one thing that happened to an object. Texts that exceed the limits of the API are cut.
type Event struct {
	// Regarding is the object. The event is created in its namespace, or in "default" if it has
	// none.
	Regarding corev1.ObjectReference
	// Related is a second object that took part. nil means none.
	Related *corev1.ObjectReference
	// Type is Normal or Warning. Any other value means Normal.
	Type Type
	// Reason is one word for why it happened: "FailedMount". At most 128 bytes. Empty means
	// "Unknown".
	Reason string
	// Action is one word for what was done or tried: "Mounting". At most 128 bytes. Empty means
	// Reason.
	Action string
	// Note is the sentence for people. At most 1024 bytes. A series has the Note of its first
	// event.
	Note string
}

// The limits of the API server, in bytes.
const (
	maxWord = 128
	maxNote = 1024
	maxName = 253
)

// fit returns the event within the limits of the API server.
func (e Event) fit() Event {
	if e.Type != Warning {
		e.Type = Normal
	}
	e.Reason = cmp.Or(cut(e.Reason, maxWord), "Unknown")
	e.Action = cmp.Or(cut(e.Action, maxWord), e.Reason)
	e.Note = cut(e.Note, maxNote)
	return e
}

const ellipsis = "…"

// cut returns s as valid UTF-8 of at most n bytes. A shortened text ends in an ellipsis.
func cut(s string, n int) string {
	if len(s) <= n && utf8.ValidString(s) {
		return s
	}
	missing := len(s) > 2*n // enough to fill n bytes: skip the rest
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

// key identifies a series.
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
	// The version of an object changes all the time, but the object stays the same.
	k.regarding.ResourceVersion, k.related.ResourceVersion = "", ""
	return k
}

// name returns a unique name for an event object: the name of the regarding object, shortened if
// needed, and a unique suffix.
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
