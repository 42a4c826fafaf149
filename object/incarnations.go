package object

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// MaxIncarnations is how many UIDs an [Incarnations] names.
const MaxIncarnations = 16

// Incarnations are objects of one name that came and went, one after the other. A value is never
// changed once it is made; nil is none, and its methods may be called.
type Incarnations struct {
	// UIDs are those of the latest, at most MaxIncarnations, oldest first.
	UIDs []types.UID
	// More is how many went before those.
	More int
}

// Len is how many there were.
func (in *Incarnations) Len() int {
	if in == nil {
		return 0
	}
	return in.More + len(in.UIDs)
}

// All are the UIDs; nil for none.
func (in *Incarnations) All() []types.UID {
	if in == nil {
		return nil
	}
	return in.UIDs
}

// Then is in and one more that went after those. No UID, and that of the last one, add nothing.
func (in *Incarnations) Then(uid types.UID) *Incarnations {
	if uid == "" {
		return in
	}
	if in != nil && len(in.UIDs) > 0 && in.UIDs[len(in.UIDs)-1] == uid {
		return in
	}
	return in.Join(&Incarnations{UIDs: []types.UID{types.UID(strings.Clone(string(uid)))}})
}

// Join is in, and later after those.
func (in *Incarnations) Join(later *Incarnations) *Incarnations {
	switch {
	case in == nil:
		return later
	case later == nil:
		return in
	}
	all := slices.Concat(in.UIDs, later.UIDs)
	over := max(0, len(all)-MaxIncarnations)
	more := in.More + over
	if later.More > 0 { // they went after those of in
		more = in.Len() + later.More
		all, over = later.UIDs, 0
	}
	return &Incarnations{UIDs: all[over:], More: more}
}

// Without is in without an incarnation.
func (in *Incarnations) Without(uid types.UID) *Incarnations {
	if in == nil || uid == "" || !slices.Contains(in.UIDs, uid) {
		return in
	}
	rest := slices.DeleteFunc(slices.Clone(in.UIDs), func(u types.UID) bool { return u == uid })
	if len(rest) == 0 && in.More == 0 {
		return nil
	}
	return &Incarnations{UIDs: rest, More: in.More}
}
