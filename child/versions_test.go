package child_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
)

// fieldTypes are the types of the fields of a kind, by the first letter of the field: a schema and two values.
var fieldTypes = map[byte][3]string{
	's': {`{"type":"string"}`, `"a"`, `"b"`},
	'i': {`{"type":"integer"}`, `1`, `2`},
	'o': {`{"type":"object","properties":{"x":{"type":"string"},"y":{"type":"integer"}}}`, `{"x":"a"}`, `{"x":"b","y":1}`},
	'a': {`{"type":"array","items":{"type":"string"}}`, `["a"]`, `["b","c"]`},
	'm': {`{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["k"],"items":{"type":"object","required":["k"],"properties":{"k":{"type":"string"},"v":{"type":"string"}}}}`,
		`[{"k":"a","v":"1"}]`, `[{"k":"b"},{"k":"a","v":"2"}]`},
}

// gear is a kind with versions that differ in their fields.
type gear struct {
	r      *rand.Rand
	gvk    schema.GroupVersionKind // without a version
	fields map[string][]string     // of the spec, by version
	stored string
}

func newGear(c *cluster, r *rand.Rand, kind string) gear {
	g := gear{r: r, gvk: schema.GroupVersionKind{Group: "child.flyball.test", Kind: kind}, fields: map[string][]string{}}
	names := []string{"s1", "s2", "i1", "i2", "o1", "a1", "m1"}
	versions := []string{"v1", "v2", "v3"}[:2+r.IntN(2)]
	g.stored = versions[r.IntN(len(versions))]
	livetest.Define(c.t, c.Live, testobj.CRD(g.gvk.GroupKind().WithVersion("v1"), kind, func(spec map[string]any) {
		var list []any
		for _, v := range versions {
			properties := map[string]any{"ours": map[string]any{"type": "string"}, "theirs": map[string]any{"type": "string"}}
			for _, name := range names {
				if r.IntN(2) == 0 {
					g.fields[v] = append(g.fields[v], name)
					properties[name] = decoded(c.t, fieldTypes[name[0]][0])
				}
			}
			list = append(list, map[string]any{"name": v, "served": true, "storage": v == g.stored,
				"subresources": map[string]any{"status": map[string]any{}},
				"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "properties": map[string]any{
					"spec":   map[string]any{"type": "object", "properties": properties},
					"status": map[string]any{"type": "object", "properties": map[string]any{"phase": map[string]any{"type": "string"}}},
				}}},
			})
		}
		spec["versions"] = list
	}))
	return g
}

func decoded(t *testing.T, text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// version draws a version.
func (g gear) version() string {
	versions := slices.Sorted(maps.Keys(g.fields))
	return versions[g.r.IntN(len(versions))]
}

func (g gear) object(version string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(g.gvk.GroupKind().WithVersion(version))
	o.SetName("g")
	return o
}

// draw returns a desired state in a version, with fields that the storage has, too.
func (g gear) draw(t *testing.T, version string) *unstructured.Unstructured {
	o, spec := g.object(version), map[string]any{"ours": "x"}
	for _, name := range g.fields[version] {
		if g.r.IntN(3) > 0 && slices.Contains(g.fields[g.stored], name) {
			spec[name] = decoded(t, fieldTypes[name[0]][1+g.r.IntN(2)])
		}
	}
	o.Object["spec"] = spec
	return o
}

// other writes as another manager: a label by an apply or a patch, a field of the spec, or the status.
func (g gear) other(c *cluster, i int) {
	o := g.object(g.version())
	o.SetNamespace(c.ns)
	name := fmt.Sprintf("other-%d", i)
	switch g.r.IntN(4) {
	case 0:
		o.SetLabels(map[string]string{name: "x"})
		_, err := client.Apply(c.t.Context(), c, o, name)
		c.check(err)
	case 1:
		_, err := c.Write(c.t.Context(), client.Op{Verb: "patch", Object: o, Owner: name, Patch: client.MergePatch(map[string]any{"metadata": map[string]any{"labels": map[string]any{name: "x"}}})})
		c.check(err)
	case 2:
		o.Object["spec"] = map[string]any{"theirs": "x"}
		_, err := client.Apply(c.t.Context(), c, o, name)
		c.check(err)
	case 3:
		_, err := c.Write(c.t.Context(), client.Op{Verb: "patch", Object: o, Owner: name, Subresource: "status", Patch: client.MergePatch(map[string]any{"status": map[string]any{"phase": name}})})
		c.check(err)
	}
}

// owned are the fields of the managers other than Ensure's, without versions.
func owned(o *unstructured.Unstructured) map[string]bool {
	out := map[string]bool{}
	for _, m := range o.GetManagedFields() {
		if m.Manager != "configmap" {
			for field := range child.Paths(&m) {
				out[fmt.Sprintf("%s %s %s %s", m.Manager, m.Operation, m.Subresource, field)] = true
			}
		}
	}
	return out
}

// The desired state of a child moves between versions of its kind. Each version has fields that the others do not have.
// Ensure brings the child to the version, and a second call changes nothing. Other field managers keep their fields,
// whichever version they have written in.
func TestChildMovesBetweenVersions(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c, r := newCluster(t), rand.New(rand.NewPCG(seed, 25))
			c.strip = r.IntN(2) == 0
			g := newGear(c, r, fmt.Sprintf("gears%d", seed))
			change := child.Created
			for step := range 5 {
				want := g.draw(t, g.version())
				before := g.object(want.GroupVersionKind().Version)
				if change == "" {
					c.check(c.Live.Get(t.Context(), object.Key{Namespace: c.ns, Name: "g"}, before, client.GetOptions{}))
				}
				got, did, err := child.Ensure(t.Context(), c, c.owner, want)
				if err != nil {
					t.Fatalf("step %d, in %s: %v", step, want.GetAPIVersion(), err)
				}
				if did != cmp.Or(change, did) {
					t.Errorf("step %d: %v", step, did)
				}
				change = ""
				spec := got.Object["spec"].(map[string]any)
				delete(spec, "theirs")
				if wanted := want.Object["spec"]; !equality.Semantic.DeepEqual(any(spec), wanted) {
					t.Errorf("step %d: %v, want %v", step, spec, wanted)
				}
				now := g.object(want.GroupVersionKind().Version)
				c.check(c.Live.Get(t.Context(), object.Key{Namespace: c.ns, Name: "g"}, now, client.GetOptions{}))
				if a, b := owned(before), owned(now); step > 0 && !maps.Equal(a, b) {
					t.Errorf("step %d: others owned %v, now %v", step, a, b)
				}
				rests(c, want)
				if r.IntN(3) > 0 {
					g.other(c, r.IntN(3))
				}
			}
		})
	}
}
