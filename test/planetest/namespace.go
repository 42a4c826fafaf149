package planetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/client"
)

// namespaceBound is the timeout for operations that take milliseconds.
const namespaceBound = 5 * time.Minute

// Namespace creates a namespace named after this test. It returns the name when Pods can be created
// in it. The namespace is deleted at the end of the test, without waiting for its objects.
func Namespace(t testing.TB, p interface{ RESTConfig() *rest.Config }) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), namespaceBound)
	defer cancel()
	c, err := client.New(p.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	ns, err := client.Create(ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: label(t.Name()) + "-"}})
	if err != nil {
		t.Fatalf("planetest: namespace: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context has ended.
		ctx, cancel := context.WithTimeout(context.Background(), namespaceBound)
		defer cancel()
		if err := client.Delete(ctx, c, ns); err != nil {
			t.Logf("planetest: namespace %s stays: %v", ns.Name, err)
		}
	})
	if err := awaitAccount(ctx, c, ns.Name); err != nil {
		t.Fatalf("planetest: namespace %s: %v", ns.Name, err)
	}
	return ns.Name
}

// awaitAccount returns when the namespace has its default service account. Admission rejects Pods
// without it.
func awaitAccount(ctx context.Context, c *client.Live, namespace string) error {
	w, err := client.Watch[corev1.ServiceAccount](ctx, c, client.InNamespace(namespace), client.MatchingFields{"metadata.name": "default"})
	if err != nil {
		return err
	}
	defer w.Stop()
	for e, err := range w.Events() {
		if err != nil || e.Object != nil {
			return err
		}
	}
	return errors.New("the watch of its default service account has ended")
}

// label returns a test's name as a prefix for a namespace: at most 40 of a-z, 0-9 and inner dashes.
func label(test string) string {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r - 'A' + 'a'
		}
		return '-'
	}, test)
	name = strings.Trim(name[:min(len(name), 40)], "-")
	if name == "" {
		return "test"
	}
	return name
}
