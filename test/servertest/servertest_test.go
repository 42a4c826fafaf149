package servertest

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(Wrap(m)) }

// What tests find is the same on both servers: users with the rights of their roles, Pods that run, and a
// kubeconfig.
func TestShared(t *testing.T) {
	s := Shared(t)
	if (s.Plane != nil) != Real() || (s.Memory != nil) == Real() {
		t.Fatalf("real %v: %+v", Real(), s)
	}
	ns := Namespace(t, s)
	c, err := client.New(s.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if pod, err = client.Create(ctx, c, pod); err != nil {
		t.Fatal(err)
	}
	w, err := client.Watch[corev1.Pod](ctx, c, client.InNamespace(ns))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil {
			t.Fatalf("the Pod does not run: %v", err)
		}
		if e.Object != nil && e.Object.Status.Phase == corev1.PodRunning {
			break
		}
	}

	config, err := s.UserConfig("ann")
	if err != nil {
		t.Fatal(err)
	}
	ann, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ann.Close()
	if err := client.Delete(ctx, ann, pod); !apierrors.IsForbidden(err) {
		t.Errorf("a user without roles deletes a Pod: %v", err)
	}

	config, err = clientcmd.BuildConfigFromFlags("", s.KubeconfigPath())
	if err != nil || config.Host != s.URL() {
		t.Errorf("the kubeconfig: %+v, %v", config, err)
	}
}

// A test that wants a server for itself gets another one.
func TestPrivate(t *testing.T) {
	if s := Private(t); s.URL() == Shared(t).URL() {
		t.Error("it is the shared one")
	}
}
