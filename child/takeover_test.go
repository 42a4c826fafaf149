package child_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// cut removes managedFields like a cache, except from live reads.
type cut struct{ *cluster }

func (c cut) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	err := c.Live.Get(ctx, key, into, o)
	if !o.Live {
		into.SetManagedFields(nil)
	}
	return err
}

func ensureBy[T any, P object.Ptr[T]](c *cluster, view client.Client, desired P, want child.Change, opts ...child.Option) P {
	c.t.Helper()
	got, did, err := child.Ensure(c.t.Context(), view, c.owner, desired, opts...)
	if c.check(err); did != want {
		c.t.Errorf("%v, want %v", did, want)
	}
	return got
}

// Fields that an operator wrote by creates and updates, before it used applies, are removed when desired no
// longer sets them. Fields that others own are reported and stay.
func TestTakeOverLetsAppliesRemoveOldFields(t *testing.T) {
	for mode, strip := range map[string]bool{"managed": false, "stripped": true} {
		t.Run(mode, func(t *testing.T) {
			c := newCluster(t)
			web := func(d *appsv1.Deployment) *corev1.Container { return &d.Spec.Template.Spec.Containers[0] }
			old := deployment()
			old.Namespace, old.Annotations = c.ns, map[string]string{"old": "yes"}
			web(old).Env = []corev1.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}
			c.check(child.Own(c.owner, old, c.Scheme()))
			made, err := client.Create(t.Context(), c.Live, old, client.FieldOwner("manager"))
			c.check(err)
			_, err = client.Patch(t.Context(), c.Live, made, client.MergePatch(`{"metadata":{"annotations":{"theirs":"yes"}}}`), client.FieldOwner("kubectl"))
			c.check(err)
			var view client.Client = c
			if strip {
				view = cut{c}
			}

			want := deployment()
			web(want).Env = []corev1.EnvVar{{Name: "A", Value: "1"}}
			var kept []child.Kept
			onKept := child.OnKept(func(k child.Kept) { kept = append(kept, k) })
			got := ensureBy(c, view, want, child.Updated, onKept)
			if len(web(got).Env) != 2 {
				t.Errorf("without TakeOver: %v", web(got).Env)
			}
			const b = `spec.template.spec.containers[{"name":"web"}].env[{"name":"B"}]`
			if text := fmt.Sprint(kept); len(kept) != 1 || kept[0].Fields["kubectl"] == nil || !slices.Contains(kept[0].Fields["manager"], b+".value") {
				t.Errorf("reported %v", text)
			}
			got = ensureBy(c, view, want, child.Updated, child.TakeOver("manager"), onKept)
			if len(web(got).Env) != 1 || got.Annotations["old"] != "" || got.Annotations["theirs"] != "yes" {
				t.Errorf("env %v, annotations %v", web(got).Env, got.Annotations)
			}
			c.writes = nil
			if ensureBy(c, view, want, child.Unchanged, child.TakeOver("manager")); len(c.writes) > 0 {
				t.Errorf("at rest it sends %q", c.writes)
			}
			web(want).Env = nil
			if got := ensureBy(c, view, want, child.Updated, child.TakeOver("manager")); len(web(got).Env) != 0 {
				t.Errorf("later: %v", web(got).Env)
			}
		})
	}
}
