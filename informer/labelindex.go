package informer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/flyball-io/flyball/store"
)

// A list by labels reads the labels of each object of its namespaces: some 0.3 µs each. An index costs some microseconds
// an object once, and about 20 bytes as long as it is there. So an informer makes one by itself, for the key of a label,
// once its lists have read for nothing what making it costs (ADR 50).
const (
	minIndexed      = 256 // objects of the kind
	leastScans      = 16  // how often all of them were read by lists of this key
	leastPerFound   = 10  // objects that were read for each that a list returned
	maxLabelIndexes = 4
	unusedAfter     = 15 * time.Minute
)

// labelIndexes are the indexes that an informer has made by itself.
type labelIndexes struct {
	mu   sync.Mutex
	uses map[string]*labelUse // by key
}

// labelUse is what lists by the key of a label have read.
type labelUse struct {
	read, found int64 // since it was last decided whether an index is worth it
	state       labelState
	used        time.Time // by a list, once there is the index
}

type labelState int

const (
	notIndexed labelState = iota
	beingIndexed
	indexed
	useless // it would take too much memory
)

// labelIndex is the name of the index of a key. A user's index of the same labels has another one.
func labelIndex(key string) string { return "by itself: metadata.labels[" + key + "]" }

// byLabels adds the indexes of a query's labels to its condition. key is that of a label without an index, else empty.
func (l *labelIndexes) byLabels(q *Query) (where store.Cond, key string) {
	if q.anyLabels() {
		return q.Where, ""
	}
	conds := []store.Cond{q.Where}
	reqs, _ := q.Labels.Requirements()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range reqs {
		value, one := oneValue(&reqs[i])
		if !one {
			continue
		}
		if u := l.uses[reqs[i].Key()]; u != nil && u.state == indexed {
			u.used = time.Now()
			conds = append(conds, store.Is(labelIndex(reqs[i].Key()), value))
		} else if key == "" {
			key = reqs[i].Key()
		}
	}
	if len(conds) == 1 {
		return q.Where, key
	}
	if q.Where == nil {
		conds = conds[1:]
	}
	return store.And(conds...), ""
}

// oneValue returns the only value that meets a requirement.
func oneValue(r *labels.Requirement) (value string, one bool) {
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals, selection.In:
		if all := r.ValuesUnsorted(); len(all) == 1 && all[0] != "" { // an index may have no empty value
			return all[0], true
		}
	}
	return "", false
}

// read counts a list by a key without an index: how many of n objects it read, and how many it found. It reports whether
// an index is worth it.
func (l *labelIndexes) read(key string, n, read, found int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.uses[key]
	if u == nil {
		if l.uses == nil {
			l.uses = map[string]*labelUse{}
		}
		if len(l.uses) >= 16*maxLabelIndexes {
			return false // keys that a program makes up
		}
		u = &labelUse{}
		l.uses[key] = u
	}
	u.read, u.found = u.read+int64(read), u.found+int64(found)
	if u.state != notIndexed || n < minIndexed || u.read < leastScans*int64(n) {
		return false
	}
	worth := u.read >= leastPerFound*u.found && len(l.keysLocked()) < maxLabelIndexes
	u.read, u.found = 0, 0
	if worth {
		u.state = beingIndexed
	}
	return worth
}

// set changes the state of a key.
func (l *labelIndexes) set(key string, s labelState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uses[key].state, l.uses[key].used = s, time.Now()
}

// keys returns the keys that have an index, or will have one, sorted.
func (l *labelIndexes) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.keysLocked()
}

func (l *labelIndexes) keysLocked() (keys []string) {
	for _, key := range slices.Sorted(maps.Keys(l.uses)) {
		if s := l.uses[key].state; s == beingIndexed || s == indexed {
			keys = append(keys, key)
		}
	}
	return keys
}

// unused returns the keys whose index nobody has used for long. They have none from now on.
func (l *labelIndexes) unused(now time.Time) (keys []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for key, u := range l.uses {
		if u.state == indexed && now.Sub(u.used) >= unusedAfter {
			u.state = notIndexed
			keys = append(keys, key)
		}
	}
	return keys
}

// listed counts a list by a label without an index, and makes the index if that is worth it. Nobody waits for it.
func (in *Informer) listed(key string, read, found int) {
	if !in.labels.read(key, in.store.Snapshot().Len(), read, found) {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	begun := in.phase == running && in.group.Go("index labels of "+in.o.Kind.GVK.Kind, func(context.Context) error {
		in.labels.set(key, in.indexLabel(key))
		return nil
	})
	if !begun {
		in.labels.set(key, notIndexed)
	}
}

// indexLabel makes the index of a key. It is dropped again if it is not worth its memory.
func (in *Informer) indexLabel(key string) labelState {
	name, before := labelIndex(key), in.store.Stats()
	if err := in.AddIndex(name, IndexPath("metadata.labels["+key+"]")); err != nil {
		return useless
	}
	after := in.store.Stats()
	if after.Held-before.Held > maxIndexBytes(after) {
		_ = in.store.RemoveIndex(name) // it was added just now
		return useless
	}
	return indexed
}

// maxIndexBytes returns how many bytes an index may take: 24 for each object, and a twentieth of the bytes that the store
// holds. An index of values that repeat takes less. So does any index of large objects.
func maxIndexBytes(s store.Stats) int64 { return s.Held/20 + 24*int64(s.Objects) }

// dropUnusedIndexes drops the indexes of labels that nobody has used for long.
func (in *Informer) dropUnusedIndexes(now time.Time) {
	for _, key := range in.labels.unused(now) {
		_ = in.store.RemoveIndex(labelIndex(key)) // it was there
	}
}
