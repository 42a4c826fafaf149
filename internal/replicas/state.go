package replicas

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flyball-io/flyball/object"
)

// State is the storage that all servers share: a log of changes with one version for all resources. Any
// goroutine may call its methods.
type State struct {
	mu     sync.Mutex
	log    []change // version 2 first
	oldest int      // no watch and no page can start before this version
	uids   int
}

// change is one entry of the log.
type change struct {
	at       time.Time
	resource string
	key      object.Key
	kind     string // ADDED, MODIFIED or DELETED
	item     Item   // for DELETED the last state, at the version of the deletion
}

// Item is an object.
type Item struct {
	Key     object.Key
	UID     string
	Version int
}

// NewState returns an empty state.
func NewState() *State { return &State{oldest: 1} }

// Version is that of the last change.
func (s *State) Version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version()
}

func (s *State) version() int { return 1 + len(s.log) }

// Put creates or updates an object.
func (s *State) Put(resource string, key object.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := "MODIFIED"
	old, ok := s.content(resource, s.version())[key]
	if !ok {
		kind = "ADDED"
		s.uids++
		old = Item{Key: key, UID: "uid-" + strconv.Itoa(s.uids)}
	}
	s.add(resource, kind, old)
}

// Delete deletes an object, if there is one.
func (s *State) Delete(resource string, key object.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.content(resource, s.version())[key]; ok {
		s.add(resource, "DELETED", old)
	}
}

func (s *State) add(resource, kind string, item Item) {
	item.Version = s.version() + 1
	s.log = append(s.log, change{time.Now(), resource, item.Key, kind, item})
}

// Compact makes all versions but the last unusable.
func (s *State) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.oldest = s.version()
}

// Content returns the objects of a resource.
func (s *State) Content(resource string) map[object.Key]Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.content(resource, s.version())
}

// Lives reports whether an object is there.
func (s *State) Lives(resource string, key object.Key, uid string) bool {
	return s.Content(resource)[key].UID == uid
}

// at returns the objects of a resource at a version, sorted by their keys.
func (s *State) at(resource string, version int) []Item {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.content(resource, version)
	return slices.SortedFunc(maps.Values(all), func(a, b Item) int { return a.Key.Compare(b.Key) })
}

func (s *State) content(resource string, version int) map[object.Key]Item {
	all := map[object.Key]Item{}
	for _, c := range s.log[:version-1] {
		switch {
		case c.resource != resource:
		case c.kind == "DELETED":
			delete(all, c.key)
		default:
			all[c.key] = c.item
		}
	}
	return all
}

// since returns the changes of a resource after a version and up to another one.
func (s *State) since(resource string, after, until int) []change {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []change
	for _, c := range s.log[min(after, until)-1 : until-1] {
		if c.resource == resource {
			all = append(all, c)
		}
	}
	return all
}

// before returns the version that the state had at a time.
func (s *State) before(t time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, _ := slices.BinarySearchFunc(s.log, t, func(c change, t time.Time) int {
		if c.at.After(t) {
			return 1
		}
		return -1
	})
	return n + 1
}

// tooOld reports whether a version is compacted.
func (s *State) tooOld(version int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return version < s.oldest
}

// JSON is the object of a kind as servers send it.
func (i Item) JSON(kind string) string {
	namespace := ""
	if i.Key.Namespace != "" {
		namespace = fmt.Sprintf(`"namespace":%q,`, i.Key.Namespace)
	}
	return fmt.Sprintf(`{%s,"metadata":{%s"name":%q,"uid":%q,"resourceVersion":"%d"}}`, kind, namespace, i.Key.Name, i.UID, i.Version)
}
