package client_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/google/go-cmp/cmp"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/internal/testobj"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

// oldConfigMap is an old Go type of a ConfigMap: it has data and nothing else.
type oldConfigMap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	Data              map[string]string `json:"data,omitempty" protobuf:"bytes,2,rep,name=data"`
}

func (m *oldConfigMap) now() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: m.ObjectMeta, Data: m.Data}
}

func (m *oldConfigMap) DeepCopyObject() runtime.Object {
	d := m.now().DeepCopy()
	return &oldConfigMap{TypeMeta: m.TypeMeta, ObjectMeta: d.ObjectMeta, Data: d.Data}
}

// The methods that generated code of a type with a protobuf form has.
func (m *oldConfigMap) Size() int { return m.now().Size() }
func (m *oldConfigMap) MarshalToSizedBuffer(b []byte) (int, error) {
	return m.now().MarshalToSizedBuffer(b)
}
func (m *oldConfigMap) Unmarshal(b []byte) error {
	var n corev1.ConfigMap
	err := n.Unmarshal(b)
	m.ObjectMeta, m.Data = n.ObjectMeta, n.Data
	return err
}

// An old Go type keeps unknown fields in protobuf and in JSON, of an object from a get, a list or a write.
func TestLiveUpdateKeepsUnknownFields(t *testing.T) {
	ctx, c, ns := live(t)
	types := runtime.NewScheme()
	types.AddKnownTypeWithName(corev1.SchemeGroupVersion.WithKind("ConfigMap"), &oldConfigMap{})
	old := livetest.Client(t, servertest.Shared(t), client.Options{Scheme: types})
	in := configMap(ns, "a", testobj.Data("k", "1"))
	in.BinaryData = map[string][]byte{"b": {1, 2, 3}}
	must(client.Create(ctx, c, in))(t)

	got := must(client.Get[oldConfigMap](ctx, old, object.KeyOf(in)))(t)
	got.Data["k"] = "2"
	got = must(client.Update(ctx, old, got))(t)
	got.Labels["l"] = "2"
	must(client.Update(ctx, old, got))(t)
	for m, err := range client.List[oldConfigMap](ctx, old, client.InNamespace(ns), client.MatchingLabels{"l": "2"}) {
		if err != nil {
			t.Fatal(err)
		}
		m.Data = map[string]string{"k": "3"}
		must(client.Update(ctx, old, m))(t)
		_, err = client.Update(ctx, old, m)
		as[*client.ConflictError](t, err)
	}
	now := must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(in)))(t)
	if d := cmp.Diff(in.BinaryData, now.BinaryData); d != "" || now.Data["k"] != "3" || now.Labels["l"] != "2" {
		t.Errorf("%+v: %s", now, d)
	}
	last := must(client.Get[oldConfigMap](ctx, old, object.KeyOf(in)))(t)
	must(client.Update(ctx, old, last, client.DropUnknown{}))(t)
	if now = must(client.Get[corev1.ConfigMap](ctx, c, object.KeyOf(in)))(t); now.BinaryData != nil {
		t.Errorf("kept %v", now.BinaryData)
	}
}
