package events

import (
	"time"

	"github.com/flyball-io/flyball/internal/apiserver/control"
)

// Bounds of the real recorders.
const (
	maxSimilar = 10               // Events with one reason that differ
	forgotten  = 10 * time.Minute // after the last of them, they are counted anew
	burst      = 25               // writes about one object
	refill     = 5 * time.Minute  // until there may be one more
)

// object is what has been told of one object.
type object struct {
	records map[saying]*record
	kinds   map[kind]*similar
	buckets map[string]*bucket // by component
}

// kind is what Events have in common that differ in their message.
type kind struct {
	component, reason, action string
	warning                   bool
}

// saying is what equal Events have in common. Those that were combined have no message.
type saying struct {
	kind
	message string
}

// similar is the messages of a kind of Events.
type similar struct {
	messages map[string]bool
	last     time.Time
}

// find returns the record that an Event belongs to. It has no count if it is new.
func (o *object) find(now time.Time, e control.Event, component string) *record {
	k := kind{component, e.Reason, e.Action, e.Warning}
	s := saying{k, e.Message}
	if e.Action == "" && o.many(now, s) {
		s.message = ""
	}
	x := o.records[s]
	if x == nil {
		if o.records == nil {
			o.records, o.kinds, o.buckets = map[saying]*record{}, map[kind]*similar{}, map[string]*bucket{}
		}
		if o.buckets[component] == nil {
			o.buckets[component] = &bucket{tokens: burst, at: now}
		}
		x = &record{component: component, combined: s.message == "", bucket: o.buckets[component]}
		o.records[s] = x
	}
	return x
}

// many reports whether there are too many Events of a kind for one more.
func (o *object) many(now time.Time, s saying) bool {
	k := o.kinds[s.kind]
	if k == nil || now.Sub(k.last) > forgotten {
		k = &similar{messages: map[string]bool{}}
		if o.kinds == nil {
			o.kinds = map[kind]*similar{}
		}
		o.kinds[s.kind] = k
	}
	k.last = now
	if !k.messages[s.message] && len(k.messages) >= maxSimilar-1 {
		return true
	}
	k.messages[s.message] = true
	return false
}

// bucket bounds how often one component writes about one object.
type bucket struct {
	tokens int
	at     time.Time // when the last token came
}

// take takes a token. It reports whether there was one.
func (b *bucket) take(now time.Time) bool {
	if n := int(now.Sub(b.at) / refill); n > 0 {
		b.tokens, b.at = min(burst, b.tokens+n), b.at.Add(time.Duration(n)*refill)
	}
	if b.tokens == 0 {
		return false
	}
	b.tokens--
	return true
}
