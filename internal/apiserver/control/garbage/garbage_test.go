package garbage

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

const keys = "/core/configmaps/ns/"

// object is a ConfigMap whose uid is its name.
func object(name string, owners []string, finalizers ...string) *metav1.PartialObjectMetadata {
	o := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name), Finalizers: finalizers}}
	yes := true
	for _, owner := range owners {
		owner, blocks := strings.CutSuffix(owner, "!")
		ref := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner, UID: types.UID(owner)}
		if blocks {
			ref.BlockOwnerDeletion = &yes
		}
		o.OwnerReferences = append(o.OwnerReferences, ref)
	}
	if len(finalizers) > 0 {
		o.DeletionTimestamp = &metav1.Time{Time: controltest.Now}
	}
	return o
}

func TestCollect(t *testing.T) {
	const path = "/api/v1/namespaces/ns/configmaps/"
	ref := func(name, more string) string {
		return `{"apiVersion":"v1",` + more + `"kind":"ConfigMap","name":"` + name + `","uid":"` + name + `"}`
	}
	for _, c := range []struct {
		name string
		have []*metav1.PartialObjectMetadata
		want []string
	}{
		{"an owner", []*metav1.PartialObjectMetadata{object("a", nil), object("b", []string{"a"})}, nil},
		{"no owner", []*metav1.PartialObjectMetadata{object("b", []string{"a"})}, []string{"DELETE " + path + "b Background"}},
		{"one of two owners", []*metav1.PartialObjectMetadata{object("a", nil), object("c", []string{"a", "b"})}, []string{"PATCH " + path + `c {"ownerReferences":[` + ref("a", "") + `]}`}},
		{"in the foreground", []*metav1.PartialObjectMetadata{object("a", nil, "foregroundDeletion"), object("b", []string{"a!"})}, []string{"DELETE " + path + "b Background"}},
		{"in the foreground, with dependents of its own", []*metav1.PartialObjectMetadata{object("a", nil, "foregroundDeletion"), object("b", []string{"a!"}), object("c", []string{"b"})}, []string{"DELETE " + path + "b Foreground"}},
		{"in the foreground, and nothing blocks", []*metav1.PartialObjectMetadata{object("a", nil, "foregroundDeletion", "x")}, []string{"PATCH " + path + `a {"finalizers":["x"]}`}},
		{"a circle", []*metav1.PartialObjectMetadata{object("a", []string{"b!"}, "foregroundDeletion"), object("b", []string{"a!"})},
			[]string{"PATCH " + path + `b {"ownerReferences":[` + ref("a", `"blockOwnerDeletion":false,`) + `]}`, "DELETE " + path + "b Foreground"}},
		{"orphans", []*metav1.PartialObjectMetadata{object("a", nil, "orphan"), object("b", []string{"a", "c"}), object("c", nil)},
			[]string{"PATCH " + path + `b {"ownerReferences":[` + ref("c", "") + `]}`, "PATCH " + path + `a {"finalizers":[]}`}},
		{"is being deleted", []*metav1.PartialObjectMetadata{object("b", []string{"a"}, "x")}, nil},
	} {
		w := controltest.New(t, New)
		for _, o := range c.have {
			w.Put(keys+o.Name, o)
		}
		if got := w.Step(); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.name, got, c.want)
		}
		if got := w.Step(); got != nil {
			t.Errorf("%s: without a change %q", c.name, got)
		}
	}
}

// What an owner held goes when the owner does, also if another object has its name by then.
func TestAnotherOneOfTheName(t *testing.T) {
	w := controltest.New(t, New)
	w.Put(keys+"a", object("a", nil))
	w.Put(keys+"b", object("b", []string{"a"}))
	if got := w.Step(); got != nil {
		t.Errorf("%q", got)
	}
	w.Delete(keys + "a")
	another := object("a", nil)
	another.UID = "another"
	w.Put(keys+"a", another)
	if got, want := w.Step(), []string{"DELETE /api/v1/namespaces/ns/configmaps/b Background"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// What an owner held goes when the definition of its kind goes with it. An owner of a kind that never was is not known to
// be gone.
func TestOwnerGoesWithItsKind(t *testing.T) {
	toy := func(name string) *metav1.PartialObjectMetadata {
		return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "example.com/v1", Kind: "Toy"}, ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(name)}}
	}
	ref := func(owners ...string) (refs []metav1.OwnerReference) {
		for _, name := range owners {
			refs = append(refs, metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Toy", Name: name, UID: types.UID(name)})
		}
		return refs
	}
	w := controltest.New(t, New)
	w.Put("/example.com/toys/ns/a", toy("a"))
	w.Put("/example.com/toys/ns/b", toy("b"))
	for name, owners := range map[string][]string{"of-both": {"a", "b"}, "of-one": {"a"}, "of-none": {"never"}} {
		o := object(name, nil)
		o.OwnerReferences = ref(owners...)
		w.Put(keys+name, o)
	}
	other := object("of-another-version", nil)
	other.OwnerReferences = ref("a")
	other.OwnerReferences[0].APIVersion = "example.com/v2"
	w.Put(keys+other.Name, other)
	if got := w.Step(); got != nil { // toys are not defined here
		t.Errorf("%q", got)
	}
	w.Delete("/example.com/toys/ns/a")
	w.Delete("/example.com/toys/ns/b")
	got := w.Step()
	slices.Sort(got)
	if want := []string{"DELETE /api/v1/namespaces/ns/configmaps/of-both Background", "DELETE /api/v1/namespaces/ns/configmaps/of-one Background"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
