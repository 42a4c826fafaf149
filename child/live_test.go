package child_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/flyball-io/flyball/cache"
	"github.com/flyball-io/flyball/child"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/livetest"
	"github.com/flyball-io/flyball/object"
	"github.com/flyball-io/flyball/test/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// cluster is a namespace with an owner, and a client that counts what it sends. It can hide
// managedFields, as a cache does.
type cluster struct {
	*client.Live
	t      *testing.T
	ns     string
	owner  *corev1.ConfigMap
	writes []string
	strip  bool
}

func (c *cluster) Get(ctx context.Context, key object.Key, into object.Object, o client.GetOptions) error {
	err := c.Live.Get(ctx, key, into, o)
	if c.strip && !o.Live {
		into.SetManagedFields(nil)
	}
	return err
}

func newCluster(t *testing.T) *cluster {
	p := servertest.Shared(t)
	c := &cluster{t: t, ns: servertest.Namespace(t, p)}
	c.Live = livetest.Client(t, p, client.Options{FieldOwner: "someone-else", Hook: func(d client.Done) {
		if d.Resource.Resource != "" && d.Verb != "get" && d.Verb != "list" {
			c.writes = append(c.writes, d.Call.String())
		}
	}})
	c.owner = c.parent("guests")
	return c
}

// run runs a cache until the end of the test, and returns when it has synced.
func (c *cluster) run(shared *cache.Cache) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- shared.Run(ctx) }()
	c.t.Cleanup(func() { cancel(); <-ended })
	c.check(shared.WaitForSync(c.t.Context()))
}

func (c *cluster) parent(name string) *corev1.ConfigMap {
	c.t.Helper()
	got, err := client.Create(c.t.Context(), c, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: name}})
	c.check(err)
	c.writes = nil
	return got
}

func (c *cluster) check(err error) {
	c.t.Helper()
	if err != nil {
		c.t.Fatal(err)
	}
}

// rests checks that another Ensure sends nothing.
func rests[T any, P object.Ptr[T]](c *cluster, desired P) {
	c.t.Helper()
	c.writes = nil
	_, did, err := child.Ensure(c.t.Context(), c, c.owner, desired)
	if c.check(err); did != child.Unchanged || len(c.writes) > 0 {
		c.t.Errorf("not at rest: %v, sent %q; differs in %s", did, c.writes, child.Difference(c, c.owner, desired))
	}
}

// ensure applies and expects what it does.
func ensure[T any, P object.Ptr[T]](c *cluster, desired P, want child.Change, opts ...child.Option) P {
	c.t.Helper()
	got, did, err := child.Ensure(c.t.Context(), c, c.owner, desired, opts...)
	if c.check(err); did != want {
		c.t.Errorf("%v, want %v", did, want)
	}
	return got
}

var labels = map[string]string{"app": "guests"}

func template() corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{
				Name: "web", Image: "example.com/guests:1",
				Args: []string{"--port", "80"},
				Ports: []corev1.ContainerPort{
					{ContainerPort: 53, Name: "dns"}, {ContainerPort: 53, Name: "dns-udp", Protocol: corev1.ProtocolUDP}, {ContainerPort: 80},
				},
				Env: []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A"}, {Name: "IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
					{Name: "MEM", ValueFrom: &corev1.EnvVarSource{ResourceFieldRef: &corev1.ResourceFieldSelector{Resource: "limits.memory"}}}},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"cpu": resource.MustParse("1000m"), "memory": resource.MustParse("1024Mi")},
					Limits:   corev1.ResourceList{"memory": resource.MustParse("1.5Gi")},
				},
				LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(80)}}},
				VolumeMounts:  []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}, {Name: "cfg", MountPath: "/etc/cfg", ReadOnly: true}},
			}},
			Volumes: []corev1.Volume{
				{Name: "tmp", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
				{Name: "cfg", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "x"}}}}}}},
			},
			SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true)},
			Tolerations:     []corev1.Toleration{{Key: "a", Operator: corev1.TolerationOpExists}},
		},
	}
}

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "front", Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template()},
	}
}

func service() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "front"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromString("http")}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}}},
	}
}

// children are desired objects of many kinds, with fields that the server completes or writes in
// another form.
func children() []object.Object {
	name := metav1.ObjectMeta{Name: "front"}
	svc := service()
	svc.Spec.Ports[0].Name = "web"
	return []object.Object{
		deployment(), svc,
		&corev1.ConfigMap{ObjectMeta: name, Data: map[string]string{"a": "1", "b": ""}, BinaryData: map[string][]byte{"c": {0, 1}}},
		&corev1.Secret{ObjectMeta: name, Data: map[string][]byte{"a": []byte("x")}, StringData: map[string]string{"b": "y"}},
		&corev1.ServiceAccount{ObjectMeta: name},
		&corev1.PersistentVolumeClaim{ObjectMeta: name, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1024Mi")}},
		}},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: name, Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{Kind: "Deployment", Name: "other", APIVersion: "apps/v1"}, MaxReplicas: 3,
			Metrics: []autoscalingv2.MetricSpec{
				{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "cpu", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: new(int32(50))}}},
				{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{Name: "memory", Target: autoscalingv2.MetricTarget{Type: autoscalingv2.AverageValueMetricType, AverageValue: new(resource.MustParse("1024Mi"))}}},
			},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: new(int32(0))}},
		}},
		&networkingv1.Ingress{ObjectMeta: name, Spec: networkingv1.IngressSpec{Rules: []networkingv1.IngressRule{{Host: "guests.example.com", IngressRuleValue: networkingv1.IngressRuleValue{
			HTTP: &networkingv1.HTTPIngressRuleValue{Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: new(networkingv1.PathTypePrefix), Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: "front", Port: networkingv1.ServiceBackendPort{Number: 80}}}}}}}}}}},
		&appsv1.StatefulSet{ObjectMeta: name, Spec: appsv1.StatefulSetSpec{
			ServiceName: "front", Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: corev1.PersistentVolumeClaimSpec{
				AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{"storage": resource.MustParse("1Gi")}}}}},
		}},
		&batchv1.CronJob{ObjectMeta: name, Spec: batchv1.CronJobSpec{Schedule: "0 0 1 1 *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "example.com/c"}}}}}}}},
		&networkingv1.NetworkPolicy{ObjectMeta: name, Spec: networkingv1.NetworkPolicySpec{Ingress: []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{{Port: new(intstr.FromInt32(80))}}}}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: name, Spec: policyv1.PodDisruptionBudgetSpec{MinAvailable: new(intstr.FromString("50%")), Selector: &metav1.LabelSelector{MatchLabels: labels}}},
		&rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}},
		&rbacv1.RoleBinding{ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "front"}, Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "front"}}},
	}
}

// Values that the server fills in or writes in another form are no difference, for typed and unstructured
// objects, with managedFields in the cache or without them.
func TestServerDefaultsAreNoDifference(t *testing.T) {
	c := newCluster(t)
	for _, typed := range children() {
		gvk, err := object.KindOf(c.Scheme(), typed)
		c.check(err)
		typed.GetObjectKind().SetGroupVersionKind(gvk)
		t.Run(gvk.Kind, func(t *testing.T) {
			c.t = t
			untyped := asUntyped(c, typed)
			if _, did, err := ensureAny(c, typed); err != nil || did != child.Created {
				t.Fatalf("%v, %v", did, err)
			}
			for mode, strip := range map[string]bool{"with": false, "without": true} {
				c.strip = strip
				for form, desired := range map[string]object.Object{"typed": typed, "unstructured": untyped} {
					before := desired.DeepCopyObject()
					_, _, err := ensureAny(c, desired) // replaces the annotation of the previous run
					c.check(err)
					c.writes = nil
					if _, did, err := ensureAny(c, desired); err != nil || did != child.Unchanged || len(c.writes) > 0 {
						t.Errorf("%s managedFields, %s: %v, %v, sent %q; differs in %q", mode, form, did, err, c.writes, child.Difference(c, c.owner, desired))
					}
					if !reflect.DeepEqual(before, desired) {
						t.Errorf("%s: what was given was changed", form)
					}
				}
			}
			c.strip = false
		})
	}
}

func ensureAny(c *cluster, o object.Object) (object.Object, child.Change, error) {
	return child.EnsureAny(c.t.Context(), c, c.owner, o)
}

// asUntyped is the object without the zero values of its Go type, and with quantities as a person would
// write them.
func asUntyped(c *cluster, o object.Object) *unstructured.Unstructured {
	m, err := child.AsUntyped(o)
	c.check(err)
	u := &unstructured.Unstructured{Object: m}
	if cs, ok, _ := unstructured.NestedSlice(m, "spec", "template", "spec", "containers"); ok {
		c.check(unstructured.SetNestedField(cs[0].(map[string]any), "1000m", "resources", "requests", "cpu"))
		c.check(unstructured.SetNestedSlice(m, cs, "spec", "template", "spec", "containers"))
	}
	return u
}

// Ensure repairs our fields that others change, keeps the fields that they add, and removes our fields that
// desired no longer sets.
func TestEnsureRepairsItsFieldsOnly(t *testing.T) {
	for mode, strip := range map[string]bool{"managed": false, "stripped": true} {
		t.Run(mode, func(t *testing.T) {
			c := newCluster(t)
			want := func(change ...func(*appsv1.Deployment)) *appsv1.Deployment {
				d := deployment()
				for _, f := range change {
					f(d)
				}
				return d
			}
			web := func(d *appsv1.Deployment) *corev1.Container {
				cs := d.Spec.Template.Spec.Containers
				return &cs[slices.IndexFunc(cs, func(c corev1.Container) bool { return c.Name == "web" })]
			}
			ensure(c, want(), child.Created)
			c.strip = strip
			ensure(c, want(), child.Unchanged) // the new child is as desired, by either comparison
			edit := func(change func(*appsv1.Deployment)) {
				t.Helper()
				d, err := client.Get[appsv1.Deployment](t.Context(), c.Live, object.Key{Namespace: c.ns, Name: "front"})
				c.check(err)
				after := d.DeepCopy()
				change(after)
				_, err = client.Patch(t.Context(), c.Live, d, client.Diff(d, after))
				c.check(err)
			}
			for name, drift := range map[string]func(*appsv1.Deployment){
				"image":         func(d *appsv1.Deployment) { web(d).Image = "example.com/other" },
				"label":         func(d *appsv1.Deployment) { d.Labels["app"] = "other" },
				"label removed": func(d *appsv1.Deployment) { d.Labels = nil },
				"quantity":      func(d *appsv1.Deployment) { web(d).Resources.Requests["cpu"] = resource.MustParse("2") },
				"arguments":     func(d *appsv1.Deployment) { web(d).Args = append(web(d).Args, "--more") },
				"env value":     func(d *appsv1.Deployment) { web(d).Env[0].Value = "3" },
				"env removed":   func(d *appsv1.Deployment) { web(d).Env = web(d).Env[1:] },
				"owner removed": func(d *appsv1.Deployment) { d.OwnerReferences[0].BlockOwnerDeletion = new(false) },
			} {
				edit(drift)
				got, did, err := child.Ensure(t.Context(), c, c.owner, want(), child.Force())
				if err != nil || did != child.Updated {
					t.Errorf("%s: %v, %v", name, did, err)
					continue
				}
				if web(got).Image != "example.com/guests:1" || got.Labels["app"] != "guests" || len(web(got).Env) != 4 {
					t.Errorf("%s: not repaired", name)
				}
				rests(c, want())
			}

			edit(func(d *appsv1.Deployment) {
				d.Spec.Replicas = new(int32(4))
				d.Annotations = map[string]string{"other": "x", "flyball.io/applied": d.Annotations["flyball.io/applied"]}
				if !strip {
					delete(d.Annotations, "flyball.io/applied")
				}
				d.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "sidecar", Image: "example.com/s"}}, d.Spec.Template.Spec.Containers...)
				web(d).Env = append(web(d).Env, corev1.EnvVar{Name: "INJECTED", Value: "1"})
			})
			rests(c, want())

			less := want(func(d *appsv1.Deployment) {
				d.Labels = nil
				w := web(d)
				w.Env, w.Args = w.Env[1:], nil
				w.Ports = w.Ports[1:]
				w.Resources.Limits = nil
				w.LivenessProbe = nil
			})
			got := ensure(c, less, child.Updated)
			w := web(got)
			if len(got.Labels) > 0 || len(w.Env) != 4 || w.Args != nil || len(w.Ports) != 2 || w.Resources.Limits != nil || w.LivenessProbe != nil {
				t.Errorf("what is no longer wanted is still there: %+v %+v", got.Labels, w)
			}
			if *got.Spec.Replicas != 4 || len(got.Spec.Template.Spec.Containers) != 2 || got.Annotations["other"] != "x" {
				t.Errorf("what others added is gone: %+v", got.Spec)
			}
			rests(c, less)
			reordered := want(func(d *appsv1.Deployment) { slices.Reverse(d.Spec.Template.Spec.Containers[0].Env) })
			ensure(c, reordered, child.Updated)
			rests(c, reordered)
		})
	}
}

// An apply that sets a field of others fails and names it, unless it is forced.
func TestConflictNamesTheFieldsOfOthers(t *testing.T) {
	c := newCluster(t)
	ensure(c, deployment(), child.Created)
	_, err := client.Patch(t.Context(), c.Live, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: c.ns, Name: "front"}}, client.MergePatch(`{"spec":{"replicas":5}}`))
	c.check(err)
	want := deployment()
	want.Spec.Replicas = new(int32(2))
	_, _, err = child.Ensure(t.Context(), c, c.owner, want)
	conflict, ok := errors.AsType[*client.ConflictError](err)
	if !ok || len(conflict.Fields) != 1 || conflict.Fields[0].Field != ".spec.replicas" && conflict.Fields[0].Field != "spec.replicas" {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"child Deployment " + c.ns + "/front of ConfigMap " + c.ns + "/guests", "others own", "spec.replicas"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if got := ensure(c, want, child.Updated, child.Force()); *got.Spec.Replicas != 2 {
		t.Errorf("%d replicas", *got.Spec.Replicas)
	}
	rests(c, want)
}

// Objects of others are never changed, whatever the cache shows.
func TestObjectsOfOthersAreNeverChanged(t *testing.T) {
	c := newCluster(t)
	want := service()
	want.Namespace, want.Spec.Ports[0].Name = c.ns, "web"
	make := func(owner object.Object) *corev1.Service {
		t.Helper()
		s := want.DeepCopy()
		if owner != nil {
			c.check(child.Own(owner, s, c.Scheme()))
		}
		got, err := client.Create(t.Context(), c, s)
		c.check(err)
		c.writes = nil
		return got
	}
	remove := func() { t.Helper(); c.check(client.Delete(t.Context(), c, want)) }

	made := make(nil)
	_, _, err := child.Ensure(t.Context(), c, c.owner, want)
	if e, ok := errors.AsType[*child.TakenError](err); !ok || e.By != nil || len(c.writes) > 0 {
		t.Errorf("unowned: %v, sent %q", err, c.writes)
	}
	got := ensure(c, want, child.Updated, child.Adopt())
	if ref := metav1.GetControllerOf(got); got.UID != made.UID || ref == nil || ref.UID != c.owner.UID {
		t.Errorf("adopted: %+v", ref)
	}
	remove()

	other := c.parent("other")
	made = make(other)
	_, _, err = child.Ensure(t.Context(), c, c.owner, want, child.Adopt(), child.Force())
	if e, ok := errors.AsType[*child.TakenError](err); !ok || e.By == nil || e.Earlier || e.By.UID != other.UID || len(c.writes) > 0 {
		t.Errorf("owned by another: %v, sent %q", err, c.writes)
	}
	// The cache lacks the object: the server refuses a second controller.
	_, _, err = child.Ensure(t.Context(), blind{c}, c.owner, want, child.Force())
	now, getErr := client.Get[corev1.Service](t.Context(), c, object.KeyOf(want))
	if c.check(getErr); err == nil || now.ResourceVersion != made.ResourceVersion {
		t.Errorf("unseen, owned by another: %v; %+v", err, now.OwnerReferences)
	}
	if gone, err := child.Prune(t.Context(), c, c.owner, func(*corev1.Service) bool { return false }); err != nil || len(gone) > 0 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	remove()

	// The owner was deleted and created again. The garbage collector has not yet deleted its child.
	make(c.owner)
	again := c.owner.DeepCopy()
	again.UID = "another"
	_, _, err = child.Ensure(t.Context(), c, again, want)
	if e, ok := errors.AsType[*child.TakenError](err); !ok || !e.Earlier {
		t.Errorf("of an earlier owner: %v", err)
	}
	// The cache shows a child that was deleted, and another owner has created it again: the uid protects it.
	old := made
	c.check(child.Own(c.owner, stripOwners(old), c.Scheme()))
	changed := want.DeepCopy()
	changed.Labels = labels
	_, _, err = child.Ensure(t.Context(), frozen{c, old}, c.owner, changed, child.Force())
	if !errors.Is(err, child.ErrReplaced) {
		t.Errorf("on a view of an earlier child: %v", err)
	}
	remove()
	_, _, err = child.Ensure(t.Context(), frozen{c, old}, c.owner, changed, child.Force())
	if !errors.Is(err, child.ErrReplaced) {
		t.Errorf("on a view of a child that is gone: %v", err)
	}
	if got := ensure(c, changed, child.Created); got.UID == old.UID {
		t.Error("it was not made anew")
	}
}

func stripOwners(s *corev1.Service) *corev1.Service { s.OwnerReferences = nil; return s }

// blind finds no object.
type blind struct{ *cluster }

func (b blind) Get(_ context.Context, key object.Key, _ object.Object, _ client.GetOptions) error {
	return client.NewNotFound(client.Call{Verb: "get", Key: key})
}

// frozen always finds the same object.
type frozen struct {
	*cluster
	view *corev1.Service
}

func (f frozen) Get(_ context.Context, _ object.Key, into object.Object, _ client.GetOptions) error {
	f.view.DeepCopyInto(into.(*corev1.Service))
	return nil
}

func TestPruneDeletesUnwantedChildren(t *testing.T) {
	c := newCluster(t)
	for i := range 4 {
		s := service()
		s.Name, s.Spec.Ports[0].Name = fmt.Sprintf("s%d", i), "web"
		ensure(c, s, child.Created)
	}
	c.writes = nil
	gone, err := child.Prune(t.Context(), c, c.owner, func(s *corev1.Service) bool { return s.Name < "s2" })
	c.check(err)
	if want := []object.Key{{Namespace: c.ns, Name: "s2"}, {Namespace: c.ns, Name: "s3"}}; !slices.Equal(gone, want) {
		t.Errorf("deleted %v, want %v", gone, want)
	}
	c.writes = nil
	gone, err = child.Prune(t.Context(), c, c.owner, func(s *corev1.Service) bool { return s.Name < "s2" })
	if c.check(err); len(gone) > 0 || len(c.writes) > 0 {
		t.Errorf("at rest it deleted %v, sent %q", gone, c.writes)
	}
	// A stale view: another owner has deleted and created one of the children since.
	view, err := client.Get[corev1.Service](t.Context(), c, object.Key{Namespace: c.ns, Name: "s0"})
	c.check(err)
	c.check(client.Delete(t.Context(), c, view))
	s := service()
	s.Namespace, s.Name, s.Spec.Ports[0].Name = c.ns, "s0", "web"
	_, err = client.Create(t.Context(), c, s)
	c.check(err)
	gone, err = child.Prune(t.Context(), listing{c, view}, c.owner, func(*corev1.Service) bool { return false })
	if c.check(err); len(gone) > 0 {
		t.Errorf("deleted %v on an old view", gone)
	}
	_, err = client.Get[corev1.Service](t.Context(), c, object.KeyOf(view))
	c.check(err)
}

// listing lists one object.
type listing struct {
	*cluster
	view *corev1.Service
}

func (l listing) List(context.Context, object.Object, client.ListOptions) iter.Seq2[object.Object, error] {
	return func(yield func(object.Object, error) bool) { yield(l.view.DeepCopy(), nil) }
}

// A child whose namespace is missing is an error that a reconciler returns and retries, not an absence.
func TestNamespaceOfAChildIsMissing(t *testing.T) {
	c := newCluster(t)
	owner, err := client.Get[corev1.Namespace](t.Context(), c, object.Key{Name: c.ns})
	if err != nil {
		t.Fatal(err)
	}
	desired := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: c.ns + "-absent"}}
	for range 2 {
		_, _, err := child.Ensure(t.Context(), c, owner, desired)
		if missing, ok := errors.AsType[*client.MissingError](err); !ok || missing.Name != desired.Namespace || client.IgnoreNotFound(err) == nil {
			t.Fatalf("got %v", err)
		}
	}
}
