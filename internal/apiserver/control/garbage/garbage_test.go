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
