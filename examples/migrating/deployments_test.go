package samples

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	foo "github.com/flyball-io/flyball/examples/migrating/foo/api"
	memcached "github.com/flyball-io/flyball/examples/migrating/memcached/api"
)

// A Foo has its Deployment, which follows it, is repaired and goes with it. A Deployment of others is left
// alone.
func TestFoo(t *testing.T) {
	each(t, "foo", ways("packed-cache"), func(s *story) {
		f := create(s, &foo.Foo{
			ObjectMeta: metav1.ObjectMeta{Name: "example"},
			Spec:       foo.FooSpec{DeploymentName: "example-deployment", Replicas: new(int32(1))},
		})
		d := await(s, "example-deployment", "the Deployment", replicas(1, f))
		await(s, f.Name, "the status", func(f *foo.Foo) bool { return f.Status.AvailableReplicas == 1 })
		awaitEvent(s, f, "Synced")

		update(s, f.Name, func(f *foo.Foo) { f.Spec.Replicas = new(int32(3)) })
		await(s, d.Name, "three Pods", replicas(3, f))
		await(s, f.Name, "the status of three", func(f *foo.Foo) bool { return f.Status.AvailableReplicas == 3 })

		update(s, d.Name, func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) })
		await(s, d.Name, "three Pods in spite of others", replicas(3, f))

		remove(s, d)
		again := await(s, d.Name, "another Deployment", replicas(3, f))
		if again.UID == d.UID {
			s.Error("the Deployment is still there")
		}

		foreign := create(s, deployment("foreign"))
		g := create(s, &foo.Foo{ObjectMeta: metav1.ObjectMeta{Name: "greedy"}, Spec: foo.FooSpec{DeploymentName: "foreign", Replicas: new(int32(5))}})
		awaitEvent(s, g, "ErrResourceExists")
		now := update(s, "foreign", func(*appsv1.Deployment) {})
		if now.Generation != foreign.Generation || len(now.OwnerReferences) > 0 {
			s.Errorf("the Deployment of others was changed: %v", now)
		}

		remove(s, f)
		awaitGone(s, again)
	})
}

// A Memcached has its servers, says whether they are ready, and tells people when it is deleted.
func TestMemcached(t *testing.T) {
	each(t, "memcached", ways("packed-cache", "flyball-manager"), func(s *story) {
		ready := func(generation int64) func(*memcached.Memcached) bool {
			return func(m *memcached.Memcached) bool {
				c := meta.FindStatusCondition(m.Status.Conditions, "Available")
				return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == generation
			}
		}
		m := create(s, &memcached.Memcached{ObjectMeta: metav1.ObjectMeta{Name: "example"}, Spec: memcached.MemcachedSpec{Size: 2}})
		d := await(s, m.Name, "two servers", replicas(2, m))
		if c := d.Spec.Template.Spec.Containers[0]; c.Ports[0].ContainerPort != 11211 {
			s.Errorf("the ports are %v", c.Ports)
		}
		m = await(s, m.Name, "the condition", ready(m.Generation))
		if len(m.Finalizers) != 1 {
			s.Errorf("the finalizers are %q", m.Finalizers)
		}

		m = update(s, m.Name, func(m *memcached.Memcached) { m.Spec.Size = 3 })
		await(s, m.Name, "three servers", replicas(3, m))
		await(s, m.Name, "the condition of three", ready(m.Generation))

		remove(s, m)
		awaitEvent(s, m, "Deleting")
		awaitGone(s, d)
	})
}

// deployment is a Deployment that nobody owns.
func deployment(name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(1)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "nginx"}}},
			},
		},
	}
}
