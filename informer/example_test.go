package informer_test

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/flyball-io/flyball/informer"
)

// A transform removes what the controller does not need before the cache stores an object. An object
// whose transform fails is rejected and reported.
func ExampleTransform() {
	drop := informer.Transform(func(m *corev1.ConfigMap) error {
		if len(m.Data) > 100 {
			return errors.New("too much data")
		}
		delete(m.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
		return nil
	})
	m := configMap("a", "1")
	m.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{…}"}
	fmt.Println(drop(m), m.Annotations)
	fmt.Println(drop(&corev1.Pod{}))
	// Output:
	// <nil> map[]
	// transform of *v1.ConfigMap: the object is a *v1.Pod
}
