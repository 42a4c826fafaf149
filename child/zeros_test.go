package child_test

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// zeros is a Deployment as a person writes it, with zero values that the server drops.
func zeros() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "front", "labels": map[string]any{}, "finalizers": []any{}},
		"spec": map[string]any{
			"paused": false, "minReadySeconds": int64(0), "replicas": int64(0),
			"selector": map[string]any{"matchLabels": map[string]any{"app": "guests"}, "matchExpressions": []any{}},
			"strategy": map[string]any{},
			"template": map[string]any{
				"metadata": map[string]any{"labels": map[string]any{"app": "guests"}, "annotations": map[string]any{}},
				"spec": map[string]any{
					"hostNetwork": false, "nodeSelector": map[string]any{}, "tolerations": []any{}, "imagePullSecrets": []any{},
					"serviceAccountName": "", "securityContext": map[string]any{}, "initContainers": []any{}, "affinity": map[string]any{},
					"volumes": []any{map[string]any{"name": "tmp", "emptyDir": map[string]any{}}},
					"containers": []any{
						map[string]any{"name": "side", "image": "example.com/side", "tty": false},
						map[string]any{
							"name": "web", "image": "example.com/guests", "tty": false, "stdin": false, "args": []any{}, "command": []any{}, "workingDir": "",
							"env":       []any{map[string]any{"name": "EMPTY", "value": ""}, map[string]any{"name": "FULL", "value": "x"}},
							"resources": map[string]any{"limits": map[string]any{}}, "volumeMounts": []any{map[string]any{"name": "tmp", "mountPath": "/tmp", "readOnly": false, "subPath": ""}},
							"ports": []any{map[string]any{"containerPort": int64(80), "hostPort": int64(0), "protocol": "TCP"}},
						},
					},
				},
			},
		},
	}}
	u.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
	return u
}

// Zero values that the server drops are no difference. Ensure repairs those that somebody has changed.
func TestDroppedZerosAreNoDifference(t *testing.T) {
	for mode, strip := range map[string]bool{"managed": false, "stripped": true} {
		t.Run(mode, func(t *testing.T) {
			c := newCluster(t)
			c.strip = strip
			if _, did, err := ensureAny(c, zeros()); err != nil || did != child.Created {
				t.Fatalf("%v, %v", did, err)
			}
			rest := func(after string) {
				t.Helper()
				c.writes = nil
				if _, did, err := ensureAny(c, zeros()); err != nil || did != child.Unchanged || len(c.writes) > 0 {
					t.Errorf("%s: %v, %v, sent %q; differs in %q", after, did, err, c.writes, child.Difference(c, c.owner, zeros()))
				}
			}
			rest("as made")
			for _, drift := range []string{
				`{"spec":{"paused":true}}`,
				`{"spec":{"minReadySeconds":5}}`,
				`{"spec":{"template":{"spec":{"hostNetwork":true}}}}`,
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","tty":true}]}}}}`,
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","args":["x"]}]}}}}`,
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","env":[{"name":"EMPTY","value":"full"}]}]}}}}`,
				`{"spec":{"template":{"spec":{"containers":[{"name":"web","volumeMounts":[{"mountPath":"/tmp","readOnly":true}]}]}}}}`,
				`{"spec":{"template":{"spec":{"volumes":[{"name":"tmp","emptyDir":{"medium":"Memory"}}]}}}}`,
			} {
				live, err := client.Get[appsv1.Deployment](t.Context(), c.Live, object.Key{Namespace: c.ns, Name: "front"})
				c.check(err)
				_, err = client.Patch(t.Context(), c.Live, live, client.StrategicMerge(drift))
				c.check(err)
				added := drift == `{"spec":{"template":{"spec":{"volumes":[{"name":"tmp","emptyDir":{"medium":"Memory"}}]}}}}`
				want := child.Updated
				if added { // an added field, which stays
					want = child.Unchanged
				}
				_, did, err := child.Ensure(t.Context(), c, c.owner, zeros(), child.Force())
				if err != nil || did != want {
					t.Errorf("%s: %v, %v; want %v", drift, did, err, want)
				}
				rest(drift)
			}
			// A value that changes from zero and back is applied each time.
			for i, paused := range []bool{true, false, true, false} {
				u := zeros()
				c.check(unstructured.SetNestedField(u.Object, paused, "spec", "paused"))
				got, did, err := child.Ensure(t.Context(), c, c.owner, u)
				if err != nil || did != child.Updated {
					t.Errorf("%d: %v, %v", i, did, err)
					continue
				}
				if have, _, _ := unstructured.NestedBool(got.Object, "spec", "paused"); have != paused {
					t.Errorf("%d: paused is %v", i, have)
				}
			}
			rest("at the end")
		})
	}
}

// Nulls in free JSON reach the server, and then are no difference.
func TestNullsInFreeJSONAreSent(t *testing.T) {
	for mode, strip := range map[string]bool{"managed": false, "stripped": true} {
		t.Run(mode, func(t *testing.T) {
			c := newCluster(t)
			c.strip = strip
			gvk := gadgets(c)
			u := func(ingress any) *unstructured.Unstructured {
				u := &unstructured.Unstructured{Object: map[string]any{
					"metadata": map[string]any{"name": "g"},
					"spec":     map[string]any{"values": map[string]any{"ingress": ingress, "list": []any{nil, map[string]any{"a": nil}}, "off": false, "none": []any{}}},
				}}
				u.SetGroupVersionKind(gvk)
				return u
			}
			got, did, err := child.Ensure(t.Context(), c, c.owner, u(nil))
			if err != nil || did != child.Created {
				t.Fatalf("%v, %v", did, err)
			}
			values, _, _ := unstructured.NestedMap(got.Object, "spec", "values")
			if ingress, there := values["ingress"]; !there || ingress != nil || fmt.Sprint(values["list"]) != "[<nil> map[a:<nil>]]" {
				t.Errorf("got %v", values)
			}
			for i, step := range []struct {
				ingress any
				want    child.Change
			}{{nil, child.Unchanged}, {"x", child.Updated}, {"x", child.Unchanged}, {nil, child.Updated}, {nil, child.Unchanged}} {
				c.writes = nil
				_, did, err := child.Ensure(t.Context(), c, c.owner, u(step.ingress))
				if err != nil || did != step.want || (did == child.Unchanged) != (len(c.writes) == 0) {
					t.Errorf("%d: %v, %v, sent %q", i, did, err, c.writes)
				}
			}
			for _, drift := range []string{`{"spec":{"values":{"off":null}}}`, `{"spec":{"values":{"off":true}}}`, `{"spec":{"values":{"none":["x"]}}}`, `{"spec":{"values":{"ingress":"y"}}}`} {
				live := u(nil)
				live.SetNamespace(c.ns)
				_, err := client.Patch(t.Context(), c.Live, live, client.MergePatch(drift))
				c.check(err)
				if _, did, err := child.Ensure(t.Context(), c, c.owner, u(nil), child.Force()); err != nil || did != child.Updated {
					t.Errorf("%s: %v, %v", drift, did, err)
				}
			}
		})
	}
}

// gadgets makes a kind of custom resources that may hold anything, and returns it once the server serves it.
func gadgets(c *cluster) schema.GroupVersionKind {
	c.t.Helper()
	gvk := schema.GroupVersionKind{Group: c.ns + ".flyball.test", Version: "v1", Kind: "Gadget"}
	livetest.Define(c.t, c.Live, testobj.CRD(gvk, "gadgets"))
	c.writes = nil
	return gvk
}

// A Go value with free JSON keeps the nulls in it.
func TestRawExtensionKeepsItsNulls(t *testing.T) {
	c := newCluster(t)
	const data = `{"ingress":null,"list":[null,{"a":null}]}`
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Revision: 1, Data: runtime.RawExtension{Raw: []byte(data)}}
	got := ensure(c, revision, child.Created)
	if string(got.Data.Raw) != data {
		t.Errorf("ensured %s", got.Data.Raw)
	}
	rests(c, revision)
	applied := revision.DeepCopy()
	applied.Namespace, applied.Name = c.ns, "s"
	got, err := client.Apply(t.Context(), c, applied, "test")
	if c.check(err); string(got.Data.Raw) != data {
		t.Errorf("applied %s", got.Data.Raw)
	}
}
