package wire_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/wire"
)

// podPaths are paths with what they mean in terms of the Go type.
var podPaths = []struct {
	path string
	want func(*corev1.Pod) []string
}{
	{"spec.nodeName", func(p *corev1.Pod) []string { return one(p.Spec.NodeName) }},
	{"metadata.name", func(p *corev1.Pod) []string { return one(p.Name) }},
	{"metadata.generation", func(p *corev1.Pod) []string { return one(strconv.FormatInt(p.Generation, 10)) }},
	{"metadata.creationTimestamp", func(p *corev1.Pod) []string {
		if p.CreationTimestamp.IsZero() {
			return nil
		}
		return one(p.CreationTimestamp.UTC().Format(time.RFC3339))
	}},
	{"metadata.deletionTimestamp", func(p *corev1.Pod) []string {
		if p.DeletionTimestamp.IsZero() {
			return nil
		}
		return one(p.DeletionTimestamp.UTC().Format(time.RFC3339))
	}},
	{"metadata.finalizers[*]", func(p *corev1.Pod) []string { return p.Finalizers }},
	{"metadata.ownerReferences[*].controller", func(p *corev1.Pod) (out []string) {
		for _, o := range p.OwnerReferences {
			if o.Controller != nil {
				out = append(out, strconv.FormatBool(*o.Controller))
			}
		}
		return out
	}},
	{"metadata.labels[app]", func(p *corev1.Pod) []string { return lookup(p.Labels, "app") }},
	{"metadata.labels['app.kubernetes.io/name']", func(p *corev1.Pod) []string { return lookup(p.Labels, "app.kubernetes.io/name") }},
	{"spec.hostNetwork", func(p *corev1.Pod) []string { return one(strconv.FormatBool(p.Spec.HostNetwork)) }},
	{"spec.priority", func(p *corev1.Pod) []string { return number(p.Spec.Priority) }},
	{"spec.securityContext.runAsUser", func(p *corev1.Pod) []string {
		if p.Spec.SecurityContext == nil {
			return nil
		}
		return number(p.Spec.SecurityContext.RunAsUser)
	}},
	{"spec.securityContext.supplementalGroups[*]", func(p *corev1.Pod) (out []string) {
		if p.Spec.SecurityContext == nil {
			return nil
		}
		for _, g := range p.Spec.SecurityContext.SupplementalGroups {
			out = append(out, strconv.FormatInt(g, 10))
		}
		return out
	}},
	{"spec.containers[*].image", func(p *corev1.Pod) (out []string) {
		for _, c := range p.Spec.Containers {
			out = append(out, c.Image)
		}
		return out
	}},
	{"spec.containers[*].ports[*].containerPort", func(p *corev1.Pod) (out []string) {
		for _, c := range p.Spec.Containers {
			for _, port := range c.Ports {
				out = append(out, strconv.Itoa(int(port.ContainerPort)))
			}
		}
		return out
	}},
	{"spec.containers[*].resources.requests[cpu]", func(p *corev1.Pod) (out []string) {
		for _, c := range p.Spec.Containers {
			if q, ok := c.Resources.Requests["cpu"]; ok {
				out = append(out, q.String())
			}
		}
		return out
	}},
	{"spec.containers[*].readinessProbe.httpGet.port", func(p *corev1.Pod) (out []string) {
		for _, c := range p.Spec.Containers {
			if c.ReadinessProbe != nil && c.ReadinessProbe.HTTPGet != nil {
				out = append(out, c.ReadinessProbe.HTTPGet.Port.String())
			}
		}
		return out
	}},
	{"spec.volumes[*].configMap.name", func(p *corev1.Pod) (out []string) {
		for _, v := range p.Spec.Volumes {
			if v.ConfigMap != nil {
				out = append(out, v.ConfigMap.Name)
			}
		}
		return out
	}},
	{"status.phase", func(p *corev1.Pod) []string { return one(string(p.Status.Phase)) }},
	{"status.containerStatuses[*].state.running.startedAt", func(p *corev1.Pod) (out []string) {
		for _, c := range p.Status.ContainerStatuses {
			if c.State.Running != nil && !c.State.Running.StartedAt.IsZero() {
				out = append(out, c.State.Running.StartedAt.UTC().Format(time.RFC3339))
			}
		}
		return out
	}},
}

func one(s string) []string { return []string{s} }

func lookup(m map[string]string, key string) []string {
	if v, ok := m[key]; ok {
		return one(v)
	}
	return nil
}

func number[N int32 | int64](n *N) []string {
	if n == nil {
		return nil
	}
	return one(fmt.Sprint(*n))
}

func compile(t testing.TB, kind *wire.Kind, path string) *wire.Path {
	t.Helper()
	p, err := wire.CompilePath(kind.GoType(), path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPathValuesEqualDecoded(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		rapid.Check(t, func(rt *rapid.T) {
			in := new(corev1.Pod)
			randomObjects(rapid.Int64().Draw(rt, "seed")).Fill(in)
			if rapid.Bool().Draw(rt, "labels") {
				in.Labels = map[string]string{"app": "a", "app.kubernetes.io/name": "b", "other": "c"}
			}
			if rapid.Bool().Draw(rt, "real") {
				in = bigPod(1)
			}
			checkPaths(rt, raw(t, enc, pods, in))
		})
		checkPaths(t, raw(t, enc, pods, &corev1.Pod{}))
	})
}

// checkPaths compares every path with the decoded object, if that can be decoded.
func checkPaths(t interface {
	Helper()
	Fatalf(string, ...any)
}, r wire.Raw) {
	t.Helper()
	decoded := new(corev1.Pod)
	if err := r.Decode(decoded); err != nil {
		return
	}
	for _, c := range podPaths {
		p, err := wire.CompilePath(r.Kind.GoType(), c.path)
		if err != nil {
			t.Fatalf("%v", err)
		}
		got, err := p.Values(r)
		if err != nil {
			t.Fatalf("%s: %v", c.path, err)
		}
		if want := c.want(decoded); !slices.Equal(want, got) {
			t.Fatalf("%s: got %q, want %q", c.path, got, want)
		}
	}
}

func TestPathValuesWithoutGoType(t *testing.T) {
	in := thing("a", `,"spec":{"s":"x\u0041","n":-3,"f":1.50,"b":true,"null":null,"list":[{"v":"1"},{"v":null},{},{"v":"2"}],`+
		`"matrix":[[1,2],[3]],"odd.key":"k","m":{"a.b/c":"d"},"s2":"old","s2":"new"}`)
	for _, c := range []struct {
		path string
		want []string
	}{
		{"metadata.name", one("a")},
		{"spec.s", one("xA")},
		{"spec.n", one("-3")},
		{"spec.f", one("1.50")},
		{"spec.b", one("true")},
		{"spec.null", nil},
		{"spec.absent.deeper", nil},
		{"spec.list[*].v", []string{"1", "2"}},
		{"spec.matrix[*][*]", []string{"1", "2", "3"}},
		{"spec['odd.key']", one("k")},
		{"spec.m[a.b/c]", one("d")},
		{`spec.m["a.b/c"]`, one("d")},
		{"spec.m[x]", nil},
		{"spec.s2", one("new")},
	} {
		got, err := compile(t, things, c.path).Values(wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: in})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q %v, want %q", c.path, got, err, c.want)
		}
	}
	for _, path := range []string{"spec", "spec.list", "spec.s.deeper", "spec.s[*]", "spec.m[*]"} {
		_, err := compile(t, things, path).Values(wire.Raw{Kind: things, Encoding: wire.JSON, Bytes: in})
		var bad *wire.DecodeError
		if !errors.As(err, &bad) || bad.Key.Name != "a" || bad.Field != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	_, err := compile(t, things, "spec.s").Values(wire.Raw{Kind: things, Encoding: wire.Protobuf, Bytes: msg(1, msg(1, "a"))})
	if !errors.As(err, new(*wire.DecodeError)) {
		t.Errorf("protobuf without a Go type: %v", err)
	}
}

func TestPathOfCustomType(t *testing.T) {
	kind := &wire.Kind{GVK: things.GVK, Scheme: types}
	in := wire.Raw{Kind: kind, Encoding: wire.JSON, Bytes: thing("a", `,"spec":{"names":["x",null],"more":{"k":"v"}}`)}
	typed := func(path string) *wire.Path {
		p, err := wire.CompilePath(reflect.TypeFor[Thing](), path)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for path, want := range map[string][]string{
		"spec.size": {"0"}, "spec.names[*]": {"x", ""}, "spec.more[k]": {"v"}, "metadata.namespace": {"ns"}, "kind": {"Thing"},
	} {
		if got, err := typed(path).Values(in); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", path, got, err, want)
		}
	}
	in.Bytes = thing("a", `,"spec":{"size":3000000000}`)
	if _, err := typed("spec.size").Values(in); !errors.As(err, new(*wire.DecodeError)) {
		t.Errorf("a number that does not fit: %v", err)
	}
}

func TestCompilePathRefuses(t *testing.T) {
	for _, c := range []struct{ path, segment string }{
		{"", ""},
		{"spec.", ""},
		{".spec", ".spec"},
		{"{.spec}", "{"},
		{"spec..nodeName", ".nodeName"},
		{"metadata.labels[", "["},
		{"metadata.labels[]", "[]"},
		{"metadata.labels['a]", "['a]"},
		{"metadata.labels[a]b", "b"},
		{"spec.nodename", "nodename"},
		{"spec.NodeName", "NodeName"},
		{"Spec.nodeName", "Spec"},
		{"spec.containers.image", "containers"},
		{"spec.containers[0].image", "containers['0']"},
		{"spec.containers[*]", "containers[*]"},
		{"spec.nodeName[*]", "nodeName[*]"},
		{"spec.nodeName.more", "more"},
		{"metadata.labels", "labels"},
		{"metadata.labels.app", "labels"},
		{"metadata.labels[*]", "labels[*]"},
		{"spec", "spec"},
		{"kind", "kind"},
		{"metadata.creationTimestamp.Time", "Time"},
		{"metadata.managedFields[*].fieldsV1", "fieldsV1"},
		{"metadata.finalizers[*][*]", "[*]"},
	} {
		_, err := wire.CompilePath(pods.GoType(), c.path)
		var bad *wire.PathError
		if !errors.As(err, &bad) || bad.Path != c.path || bad.Segment != c.segment || bad.Reason == "" {
			t.Errorf("%q: %v", c.path, err)
		}
	}
}

func TestPathValuesOfBadObjects(t *testing.T) {
	for _, c := range []struct {
		path string
		enc  wire.Encoding
		in   []byte
	}{
		{"spec.nodeName", wire.JSON, []byte(`{"spec":{"nodeName":5}}`)},
		{"spec.nodeName", wire.JSON, []byte(`{"spec":[]}`)},
		{"spec.nodeName", wire.JSON, []byte(`null`)},
		{"spec.nodeName", wire.JSON, []byte(`{"spec":{}}x`)},
		{"spec.nodeName", wire.JSON, nil},
		{"spec.nodeName", wire.Protobuf, msg(2, msg(10, 5))},
		{"spec.nodeName", wire.Protobuf, msg(2, msg(10, "\xff"))},
		{"spec.nodeName", wire.Protobuf, msg(2, "\x52\x7f")},
		{"spec.priority", wire.Protobuf, msg(2, msg(25, "x"))},
		{"metadata.labels[a]", wire.Protobuf, msg(1, msg(11, msg(1, "a", 2, 5)))},
		{"metadata.creationTimestamp", wire.JSON, []byte(`{"metadata":{"creationTimestamp":"x"}}`)},
		{"spec.containers[*].resources.requests[cpu]", wire.JSON, []byte(`{"spec":{"containers":[{"resources":{"requests":{"cpu":"x"}}}]}}`)},
		{"spec.nodeName", 0, nil},
	} {
		_, err := compile(t, pods, c.path).Values(wire.Raw{Kind: pods, Encoding: c.enc, Bytes: c.in})
		var bad *wire.DecodeError
		if !errors.As(err, &bad) || bad.Field != c.path {
			t.Errorf("%s of %q: %v", c.path, c.in, err)
		}
	}
}

func TestPathMember(t *testing.T) {
	for path, want := range map[string][3]string{
		"spec.nodeName":                   {"spec", "nodeName"},
		"metadata.labels[app]":            {"metadata", "labels"},
		"metadata.annotations['a/b']":     {"metadata", "annotations"},
		"spec.containers[*].image":        {"spec", "containers", "image"},
		"status.phase":                    {"status", "phase"},
		"metadata.name":                   {"metadata", "name"},
		"metadata.ownerReferences[*].uid": {"metadata", "ownerReferences", "uid"},
		"data[x]":                         {"data"},
		"data[x].y":                       {"data"},
	} {
		typ := reflect.TypeFor[corev1.Pod]()
		if strings.HasPrefix(path, "data") {
			typ = nil
		}
		p, err := wire.CompilePath(typ, path)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range want {
			if got := p.Member(i); got != want {
				t.Errorf("%s: member %d is %q, want %q", path, i, got, want)
			}
		}
	}
}
