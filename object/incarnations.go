package object

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// maxIncarnations is the number of UIDs that an [Incarnations] names.
const maxIncarnations = 16

// Incarnations are objects of one name that came and went, one after the other. A value is
// immutable. Nil means none, and its methods may be called.
type Incarnations struct {
	// UIDs are the latest ones, at most 16, oldest first.
	UIDs []types.UID
	// More is the number of earlier ones.
	More int
}

// Len is the number of all.
func (in *Incarnations) Len() int {
	if in == nil {
		return 0
	}
	return in.More + len(in.UIDs)
}

// All returns the UIDs; nil for none.
func (in *Incarnations) All() []types.UID {
	if in == nil {
		return nil
	}
	return in.UIDs
}

// Then returns in followed by one more. An empty uid, and that of the last one, add nothing.
func (in *Incarnations) Then(uid types.UID) *Incarnations {
	if uid == "" {
		return in
	}
	if in != nil && len(in.UIDs) > 0 && in.UIDs[len(in.UIDs)-1] == uid {
		return in
	}
	return in.Join(&Incarnations{UIDs: []types.UID{types.UID(strings.Clone(string(uid)))}})
}

// Full reports whether one more incarnation is not named but counted.
func (in *Incarnations) Full() bool { return in != nil && len(in.UIDs) >= maxIncarnations }

// Join returns in followed by later.
func (in *Incarnations) Join(later *Incarnations) *Incarnations {
	switch {
	case in == nil:
		return later
	case later == nil:
		return in
	}
	all := slices.Concat(in.UIDs, later.UIDs)
	excess := max(0, len(all)-maxIncarnations)
	more := in.More + excess
	if later.More > 0 { // all of in are earlier than later.UIDs
		more = in.Len() + later.More
		all, excess = later.UIDs, 0
	}
	return &Incarnations{UIDs: all[excess:], More: more}
}

// Without returns in without the given incarnation.
func (in *Incarnations) Without(uid types.UID) *Incarnations {
	if in == nil || uid == "" || !slices.Contains(in.UIDs, uid) {
		return in
	}
	remaining := slices.DeleteFunc(slices.Clone(in.UIDs), func(u types.UID) bool { return u == uid })
	if len(remaining) == 0 && in.More == 0 {
		return nil
	}
	return &Incarnations{UIDs: remaining, More: in.More}
}
