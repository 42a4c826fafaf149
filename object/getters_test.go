package object_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/object"
)

// Each getter of a Header returns what that of the whole object returns.
func TestHeaderGettersAgreeWithMetadata(t *testing.T) {
	deleted := metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	whole := &metav1.ObjectMeta{
		Namespace: "web", Name: "front", UID: "u1", ResourceVersion: "42", Generation: 3, DeletionTimestamp: &deleted,
		Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"note": "x"},
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "u2", Controller: new(true)},
			{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u3"},
		},
	}
	h := &object.Header{
		Key: object.KeyOf(whole), UID: "u1", ResourceVersion: "42", Generation: 3, DeletionTimestamp: deleted.Time,
		Labels: whole.Labels, Annotations: whole.Annotations,
		Owners: []object.Owner{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "u2", Controller: true}, {APIVersion: "v1", Kind: "Node", Name: "n", UID: "u3"}},
	}
	for _, pair := range []struct {
		what   string
		whole  metav1.Object
		header *object.Header
	}{{"full", whole, h}, {"empty", &metav1.ObjectMeta{}, &object.Header{}}} {
		all, mine := reflect.ValueOf(pair.whole), reflect.ValueOf(pair.header)
		compared := 0
		for i := range mine.NumMethod() {
			name := mine.Type().Method(i).Name
			m := all.MethodByName(name)
			if len(name) < 4 || name[:3] != "Get" {
				continue
			}
			if !m.IsValid() {
				t.Errorf("metav1.Object has no %s", name)
				continue
			}
			want, got := m.Call(nil)[0].Interface(), mine.Method(i).Call(nil)[0].Interface()
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s (-object +header):\n%s", pair.what, name, d)
			}
			compared++
		}
		if compared < 9 {
			t.Errorf("%s: only %d getters were compared", pair.what, compared)
		}
	}
}
