package objects

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
)

func TestTransforms(t *testing.T) {
	pods := corev1.SchemeGroupVersion.WithKind("Pod")
	pod := func() *corev1.Pod {
		return &corev1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	}
	p := pod()
	if err := Transform(pods, func(o any) (any, error) {
		c := o.(*corev1.Pod).DeepCopy()
		c.Labels = map[string]string{"kind": c.Kind}
		return c, nil
	})(p); err != nil || p.Labels["kind"] != "" || len(p.Labels) != 1 {
		t.Errorf("a transform that returns a copy: %v, %v", p.Labels, err)
	}
	failed := errors.New("no")
	if err := Transform(pods, func(o any) (any, error) { return o, failed })(pod()); err != failed {
		t.Error(err)
	}
	other := func(any) (any, error) { return &corev1.Node{}, nil }
	for _, f := range []toolscache.TransformFunc{other, func(any) (any, error) { return nil, nil }} {
		var wrong *TypeError
		if err := Transform(pods, f)(pod()); !errors.As(err, &wrong) || wrong.Want != "*v1.Pod" {
			t.Error(err)
		}
	}
	if err := Probe(pods, other, pod()); err == nil || !strings.Contains(err.Error(), "it returns a *v1.Node for a *v1.Pod") {
		t.Error(err)
	}
	if err := Probe(pods, func(any) (any, error) { panic("x") }, pod()); err != nil {
		t.Error(err)
	}
}
