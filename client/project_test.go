package client

import (
	"context"
	"iter"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

type podView struct {
	metav1.TypeMeta
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Phase    corev1.PodPhase `field:"status.phase"`
}

func viewed(name string) *corev1.Pod {
	p := pod(name)
	p.Spec.NodeName, p.Status.Phase = "node-"+name, corev1.PodRunning
	return p
}

func wantView(name string) podView {
	v := podView{TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}, Phase: corev1.PodRunning}
	v.Metadata.Name, v.Spec.NodeName = name, "node-"+name
	return v
}

func TestProjectReadsViews(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/namespaces/web/pods/x", reply(viewed("x"), podGVK))
	f.on("GET /apis/example.com/v1/namespaces/web/widgets/w", text(200, "application/json", widgetJSON))
	c := f.client(Options{})

	if got, err := Project[corev1.Pod, podView](t.Context(), c, key("x")); err != nil || got != wantView("x") {
		t.Errorf("typed: %+v, %v", got, err)
	}
	if a := f.last().header.Get("Accept"); a != wire.AcceptProtobuf {
		t.Errorf("typed: Accept %q", a)
	}
	if got, err := Project[unstructured.Unstructured, podView](t.Context(), c, key("x"), OfKind(podGVK)); err != nil || got != wantView("x") {
		t.Errorf("unstructured: %+v, %v", got, err)
	}
	type widget struct{ Spec struct{ N int64 } }
	if got, err := Project[unstructured.Unstructured, widget](t.Context(), c, key("w"), OfKind(widgetGVK)); err != nil || got.Spec.N != 9007199254740993 {
		t.Errorf("custom: %+v, %v", got, err)
	}

	sent := f.count()
	type wrong struct{ Spec struct{ NodName string } }
	if _, err := Project[corev1.Pod, wrong](t.Context(), c, key("x")); !is[*wire.ProjectionError](err) {
		t.Errorf("a field that is not there: %v", err)
	}
	if _, err := Project[corev1.Pod, int](t.Context(), c, key("x")); !is[*wire.TypeError](err) {
		t.Errorf("no struct: %v", err)
	}
	if _, err := Project[unstructured.Unstructured, podView](t.Context(), c, key("x")); !is[*object.UnknownKindError](err) {
		t.Errorf("no kind: %v", err)
	}
	if f.count() != sent {
		t.Error("a request was sent for what cannot be read")
	}
	type text struct{ Spec struct{ N string } }
	if got, err := Project[unstructured.Unstructured, text](t.Context(), c, key("w"), OfKind(widgetGVK)); !is[*wire.DecodeError](err) || got != (text{}) {
		t.Errorf("another type: %+v, %v", got, err)
	}
	if _, err := Project[corev1.Pod, podView](t.Context(), c, key("y")); !is[*NotServedError](err) {
		t.Errorf("a route that is not there: %v", err)
	}
}

func TestProjectListReadsAllPages(t *testing.T) {
	f := newFake(t)
	f.on("GET /api/v1/namespaces/web/pods", inTurn(podList("5", "t1", "a", "b"), podList("5", "", "c"), podList("5", "", "d")))
	f.on("GET /apis/example.com/v1/widgets", text(200, "application/json", `{"apiVersion":"example.com/v1","kind":"WidgetList","metadata":{},"items":[
		{"metadata":{"name":"a"},"spec":{"n":1}},{"metadata":{"name":"b"},"spec":{"n":"x"}},{"metadata":{"name":"c"}},
		{"kind":"Pod","apiVersion":"v1","metadata":{"name":"d"}}]}`))
	c := f.client(Options{})
	type name struct{ Metadata struct{ Name string } }
	var got []string
	all := ProjectList[corev1.Pod, name](t.Context(), c, InNamespace("web"))
	for range 2 {
		for v, err := range all {
			if err != nil {
				t.Error(err)
			}
			got = append(got, v.Metadata.Name)
		}
	}
	equal(t, "names", got, []string{"a", "b", "c", "d"})
	for range ProjectList[corev1.Pod, name](t.Context(), c, InNamespace("web")) {
		break
	}

	type widget struct {
		name
		Spec struct{ N *int }
	}
	good, bad, other := 0, 0, 0
	for v, err := range ProjectList[unstructured.Unstructured, widget](t.Context(), c, OfKind(widgetGVK)) {
		switch {
		case err == nil:
			good++
			if (v.Spec.N == nil) != (v.Metadata.Name == "c") {
				t.Errorf("%+v", v)
			}
		case is[*wire.KindError](err):
			other++
		case is[*wire.DecodeError](err) && v == (widget{}):
			bad++
		default:
			t.Error(v, err)
		}
	}
	if good != 2 || bad != 1 || other != 1 {
		t.Errorf("%d views, %d errors and %d of another kind", good, bad, other)
	}

	type wrong struct{ Spec struct{ NodName string } }
	sent := f.count()
	for range 2 {
		for _, err := range ProjectList[corev1.Pod, wrong](t.Context(), c) {
			if !is[*wire.ProjectionError](err) {
				t.Error(err)
			}
		}
		for _, err := range ProjectList[corev1.Pod, name](t.Context(), c, LabelSelector("a=b=c")) {
			if err == nil {
				t.Error("a selector that is none")
			}
		}
	}
	if f.count() != sent {
		t.Error("a request was sent for what cannot be read")
	}
}

// built is a reader that is no PartialReader.
type built struct{ objects []object.Object }

func (b built) Get(_ context.Context, key object.Key, into object.Object, _ GetOptions) error {
	for _, o := range b.objects {
		if object.KeyOf(o) != key {
			continue
		}
		switch into := into.(type) {
		case *corev1.Pod:
			o.(*corev1.Pod).DeepCopyInto(into)
		case *unstructured.Unstructured:
			o.(*unstructured.Unstructured).DeepCopyInto(into)
		}
	}
	return nil
}

func (b built) List(context.Context, object.Object, ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) {
		for _, o := range b.objects {
			if !yield(o, nil) {
				return
			}
		}
	}
}

// Project reads views from the objects of any other Reader.
func TestProjectOfBuiltObjects(t *testing.T) {
	x := viewed("x")
	x.TypeMeta = metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"}
	w := &unstructured.Unstructured{}
	if err := w.UnmarshalJSON([]byte(widgetJSON)); err != nil {
		t.Fatal(err)
	}
	r := built{[]object.Object{x, w}}
	if got, err := Project[corev1.Pod, podView](t.Context(), r, key("x")); err != nil || got != wantView("x") {
		t.Errorf("%+v, %v", got, err)
	}
	type widget struct{ Spec struct{ N int64 } }
	if got, err := Project[unstructured.Unstructured, widget](t.Context(), r, key("w")); err != nil || got.Spec.N != 9007199254740993 {
		t.Errorf("%+v, %v", got, err)
	}
	type wrong struct{ Spec struct{ NodName string } }
	if _, err := Project[corev1.Pod, wrong](t.Context(), r, key("x")); !is[*wire.ProjectionError](err) {
		t.Error(err)
	}
	for got, err := range ProjectList[corev1.Pod, podView](t.Context(), r) {
		if err != nil || got != wantView("x") {
			t.Errorf("%+v, %v", got, err)
		}
		break
	}
}
