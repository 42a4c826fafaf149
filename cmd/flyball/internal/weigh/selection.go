package weigh

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Served is a kind of a cluster.
type Served struct {
	Resource
	Short []string // further names
}

// Selection says which objects to weigh. The zero value means all.
type Selection struct {
	// Kinds are names of kinds: plural, singular, short or kind, with ".GROUP" if need be. Nil: all.
	Kinds []string
	// Program restricts to what a program may list and watch; nil: no restriction.
	Program *Program
	// Namespace restricts to the objects of a namespace; empty: no restriction.
	Namespace string
}

// Reasons why a kind is excluded.
var (
	errNotGranted  = errors.New("the roles of --program do not permit list and watch")
	errNoNamespace = errors.New("the objects are in no namespace, and --namespace is given")
)

// scope returns what is selected of a kind that Kinds names, or of any kind if that is nil. If it is
// nothing, ok is false, and why is the reason. It is nil for a kind that no role names.
func (s *Selection) scope(r Resource) (scope Scope, ok bool, why error) {
	if s.Program != nil {
		if scope, ok = s.Program.scope(r); !ok {
			if why = s.Program.why(r); why == nil && len(s.Kinds) > 0 {
				why = errNotGranted
			}
			return Scope{}, false, why
		}
	}
	switch {
	case s.Namespace == "":
		return scope, true, nil
	case !r.Namespaced:
		return Scope{}, false, errNoNamespace
	case scope.Namespaces != nil && !slices.Contains(scope.Namespaces, s.Namespace):
		return Scope{}, false, fmt.Errorf("the roles permit namespace %s, not %s", strings.Join(scope.Namespaces, ", "), s.Namespace)
	}
	return Scope{Namespaces: []string{s.Namespace}}, true, nil
}

// matcher finds the kinds that Selection.Kinds names. A name without a group means the first kind
// that has it.
type matcher struct {
	names []string
	found []schema.GroupResource // by the index of names
}

func newMatcher(names []string) *matcher {
	return &matcher{names: names, found: make([]schema.GroupResource, len(names))}
}

// match reports whether a kind is named, or no name is given.
func (m *matcher) match(k Served) bool {
	gr, matched := k.GVR.GroupResource(), len(m.names) == 0
	for i, name := range m.names {
		if (m.found[i] == schema.GroupResource{} || m.found[i] == gr) && k.is(name) {
			m.found[i], matched = gr, true
		}
	}
	return matched
}

// missing returns the names that no kind had.
func (m *matcher) missing() (names []string) {
	for i, gr := range m.found {
		if gr.Empty() {
			names = append(names, m.names[i])
		}
	}
	return names
}

// is reports whether a name is one of the kind.
func (k Served) is(name string) bool {
	name = strings.ToLower(name)
	if of, group, ok := strings.Cut(name, "."); ok {
		if group != k.GVR.Group && group != k.GVR.Version+"."+k.GVR.Group {
			return false
		}
		name = of
	}
	return name == k.GVR.Resource || name == strings.ToLower(k.GVK.Kind) || slices.Contains(k.Short, name)
}

// MissingError is the error for names of --kinds that no kind has.
type MissingError struct {
	Names []string
	From  string // the cluster
}

func (e *MissingError) Error() string {
	var quoted []string
	for _, n := range e.Names {
		quoted = append(quoted, strconv.Quote(n))
	}
	return fmt.Sprintf("%s has no kind %s that can be listed and watched", e.From, strings.Join(quoted, ", none "))
}
