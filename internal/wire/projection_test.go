package wire_test

import (
	"math/rand"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/flyball-io/flyball/internal/wire"
	"github.com/flyball-io/flyball/object"
)

// podView has something of everything that a view may have.
type podView struct {
	metav1.TypeMeta
	Metadata struct {
		Name              string
		UID               string `json:"uid"`
		Labels            map[string]string
		Generation        int64
		CreationTimestamp metav1.Time
		DeletionTimestamp *metav1.Time
		OwnerReferences   []metav1.OwnerReference
		Finalizers        []string
	}
	App  string  `field:"metadata.labels[app]"`
	Tier *string `field:"metadata.labels['example.com/tier']"`
	podSpec
	Phase  corev1.PodPhase `field:"status.phase"`
	Status struct {
		Conditions []struct {
			Type, Status       string
			LastTransitionTime metav1.Time
		}
		ContainerStatuses []corev1.ContainerStatus
	}
	note string
}

type podSpec struct {
	Spec struct {
		NodeName        string
		HostNetwork     bool
		Priority        *int64
		PriorityValue   int32 `json:"priority"`
		SecurityContext *struct {
			RunAsUser          *int64
			SupplementalGroups []int64
		}
		User       int64 `field:"securityContext.runAsUser"`
		Containers []containerView
		Volumes    []struct {
			Name      string
			ConfigMap *struct{ Name string } `json:"configMap"`
			Secret    *corev1.SecretVolumeSource
		}
		Overhead  map[corev1.ResourceName]resource.Quantity
		Affinity  *corev1.Affinity
		Ignored   chan int `json:"-"`
		DNSPolicy corev1.DNSPolicy
	}
}

type containerView struct {
	Name, Image string
	Ports       []struct{ ContainerPort int }
	Resources   struct {
		Requests corev1.ResourceList
		Limits   struct{ CPU *resource.Quantity }
	}
	ReadinessProbe *struct {
		HTTPGet *struct {
			Port intstr.IntOrString
			Path string
		}
	}
}

// viewOf copies from a Pod by hand what podView has.
func viewOf(p *corev1.Pod) podView {
	var v podView
	v.APIVersion, v.Kind = "v1", "Pod"
	v.Metadata.Name, v.Metadata.UID, v.Metadata.Labels, v.Metadata.Generation = p.Name, string(p.UID), p.Labels, p.Generation
	v.Metadata.CreationTimestamp, v.Metadata.DeletionTimestamp = p.CreationTimestamp, p.DeletionTimestamp
	v.Metadata.OwnerReferences, v.Metadata.Finalizers = p.OwnerReferences, p.Finalizers
	v.App = p.Labels["app"]
	if tier, ok := p.Labels["example.com/tier"]; ok {
		v.Tier = &tier
	}
	v.Spec.NodeName, v.Spec.HostNetwork, v.Spec.DNSPolicy = p.Spec.NodeName, p.Spec.HostNetwork, p.Spec.DNSPolicy
	if p.Spec.Priority != nil {
		v.Spec.Priority, v.Spec.PriorityValue = new(int64), *p.Spec.Priority
		*v.Spec.Priority = int64(*p.Spec.Priority)
	}
	if s := p.Spec.SecurityContext; s != nil {
		v.Spec.SecurityContext = &struct {
			RunAsUser          *int64
			SupplementalGroups []int64
		}{s.RunAsUser, s.SupplementalGroups}
		if s.RunAsUser != nil {
			v.Spec.User = *s.RunAsUser
		}
	}
	v.Spec.Containers = copied(p.Spec.Containers, func(c *corev1.Container, v *containerView) {
		v.Name, v.Image = c.Name, c.Image
		v.Ports = copied(c.Ports, func(p *corev1.ContainerPort, v *struct{ ContainerPort int }) {
			v.ContainerPort = int(p.ContainerPort)
		})
		v.Resources.Requests = c.Resources.Requests
		if cpu, ok := c.Resources.Limits["cpu"]; ok {
			v.Resources.Limits.CPU = &cpu
		}
		if r := c.ReadinessProbe; r != nil {
			v.ReadinessProbe = new(struct {
				HTTPGet *struct {
					Port intstr.IntOrString
					Path string
				}
			})
			if r.HTTPGet != nil {
				v.ReadinessProbe.HTTPGet = &struct {
					Port intstr.IntOrString
					Path string
				}{r.HTTPGet.Port, r.HTTPGet.Path}
			}
		}
	})
	v.Spec.Volumes = copied(p.Spec.Volumes, func(in *corev1.Volume, v *struct {
		Name      string
		ConfigMap *struct{ Name string } `json:"configMap"`
		Secret    *corev1.SecretVolumeSource
	}) {
		v.Name, v.Secret = in.Name, in.Secret
		if in.ConfigMap != nil {
			v.ConfigMap = &struct{ Name string }{in.ConfigMap.Name}
		}
	})
	v.Spec.Overhead, v.Spec.Affinity = p.Spec.Overhead, p.Spec.Affinity
	v.Phase, v.Status.ContainerStatuses = p.Status.Phase, p.Status.ContainerStatuses
	v.Status.Conditions = copied(p.Status.Conditions, func(c *corev1.PodCondition, v *struct {
		Type, Status       string
		LastTransitionTime metav1.Time
	}) {
		v.Type, v.Status, v.LastTransitionTime = string(c.Type), string(c.Status), c.LastTransitionTime
	})
	return v
}

func copied[From, To any](from []From, one func(*From, *To)) []To {
	if from == nil {
		return nil
	}
	to := make([]To, len(from))
	for i := range from {
		one(&from[i], &to[i])
	}
	return to
}

func TestProjectEqualsDecode(t *testing.T) {
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		rapid.Check(t, func(rt *rapid.T) {
			in := new(corev1.Pod)
			randomObjects(rapid.Int64().Draw(rt, "seed")).Fill(in)
			if rapid.Bool().Draw(rt, "labels") {
				in.Labels = map[string]string{"app": "a", "example.com/tier": "", "other": "c"}
			}
			if rapid.Bool().Draw(rt, "limits") && len(in.Spec.Containers) > 0 {
				in.Spec.Containers[0].Resources.Limits = corev1.ResourceList{"memory": resource.MustParse("1Gi"), "cpu": resource.MustParse("1500m")}
			}
			if rapid.Bool().Draw(rt, "real") {
				in = bigPod(1)
			}
			checkPodView(rt, raw(t, enc, pods, in))
		})
		checkPodView(t, raw(t, enc, pods, &corev1.Pod{}))
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// checkPodView compares a view with the decoded object.
func checkPodView(t fataler, r wire.Raw) {
	t.Helper()
	decoded, got := new(corev1.Pod), podView{note: "old", App: "old"}
	if err := r.Decode(decoded); err != nil {
		t.Fatalf("%v", err)
	}
	if err := r.Project(&got); err != nil {
		t.Fatalf("%v", err)
	}
	if want := viewOf(decoded); !reflect.DeepEqual(want, got) {
		t.Fatalf("%s", diffObjects(want, got))
	}
}

// TestProjectRandomViews has random views of every built-in kind.
func TestProjectRandomViews(t *testing.T) {
	var kinds []*wire.Kind
	for gvk, goType := range types.AllKnownTypes() {
		if _, ok := reflect.New(goType).Interface().(object.Object); ok && wire.HasProtobuf(goType) {
			kinds = append(kinds, &wire.Kind{GVK: gvk, Scheme: types})
		}
	}
	slices.SortFunc(kinds, func(a, b *wire.Kind) int { return strings.Compare(a.GVK.String(), b.GVK.String()) })
	bothEncodings(t, func(t *testing.T, enc wire.Encoding) {
		for i, kind := range kinds {
			in := reflect.New(kind.GoType()).Interface().(object.Object)
			random := rand.New(rand.NewSource(int64(i)))
			randomObjects(int64(i)).Fill(in)
			r := raw(t, enc, kind, in)
			decoded := reflect.New(kind.GoType()).Interface().(object.Object)
			if err := r.Decode(decoded); err != nil {
				t.Fatal(err)
			}
			for range 10 {
				view := randomView(random, kind.GoType(), 0)
				want, got := reflect.New(view), reflect.New(view)
				copyView(want.Elem(), reflect.ValueOf(decoded).Elem())
				if err := r.Project(got.Interface()); err != nil {
					t.Fatalf("%v: %v", view, err)
				}
				if !reflect.DeepEqual(want.Interface(), got.Interface()) {
					t.Fatalf("%v of %v: %s", view, kind.GVK, diffObjects(want.Interface(), got.Interface()))
				}
			}
		}
	})
}

// randomView makes a view of some fields of a struct type: as they are, or views of them.
func randomView(r *rand.Rand, t reflect.Type, depth int) reflect.Type {
	var fields []reflect.StructField
	var add func(reflect.Type)
	add = func(t reflect.Type) {
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous && name == "" {
				if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[metav1.TypeMeta]() { // which is not on the wire
					add(f.Type)
				}
				continue
			}
			if r.Intn(3) > 0 {
				continue
			}
			field := reflect.StructField{Name: f.Name, Type: viewType(r, f.Type, depth), Tag: reflect.StructTag(`json:"` + name + `"`)}
			if !slices.ContainsFunc(fields, func(have reflect.StructField) bool { return have.Name == f.Name }) {
				fields = append(fields, field)
			}
		}
	}
	add(t)
	return reflect.StructOf(fields)
}

func viewType(r *rand.Rand, t reflect.Type, depth int) reflect.Type {
	_, own := reflect.New(t).Interface().(interface{ UnmarshalJSON([]byte) error })
	if _, list := reflect.New(t).Interface().(runtime.Unstructured); own || list || depth > 4 {
		return t
	}
	switch t.Kind() {
	case reflect.Struct:
		if r.Intn(5) > 0 {
			return randomView(r, t, depth+1)
		}
	case reflect.Pointer:
		elem := viewType(r, t.Elem(), depth)
		if r.Intn(4) == 0 {
			return elem
		}
		return reflect.PointerTo(elem)
	case reflect.Slice:
		if _, message := reflect.New(t).Interface().(interface{ Unmarshal([]byte) error }); !message && t.Elem().Kind() != reflect.Uint8 {
			return reflect.SliceOf(viewType(r, t.Elem(), depth))
		}
	case reflect.Map:
		return reflect.MapOf(t.Key(), viewType(r, t.Elem(), depth))
	case reflect.Int32:
		if r.Intn(2) == 0 {
			return reflect.TypeFor[int64]()
		}
	case reflect.String:
		if r.Intn(2) == 0 {
			return reflect.TypeFor[string]()
		}
	}
	return t
}

// copyView copies the fields of a view from an object, by their names.
func copyView(to, from reflect.Value) {
	if from.Kind() == reflect.Pointer {
		if from.IsNil() {
			return
		}
		if to.Kind() == reflect.Pointer {
			to.Set(reflect.New(to.Type().Elem()))
			to = to.Elem()
		}
		copyView(to, from.Elem())
		return
	}
	if to.Type() == from.Type() {
		to.Set(from)
		return
	}
	switch to.Kind() {
	case reflect.Struct:
		for f := range to.Type().Fields() {
			copyView(to.FieldByIndex(f.Index), from.FieldByName(f.Name))
		}
	case reflect.Slice:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			copyView(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		if from.IsNil() {
			return
		}
		to.Set(reflect.MakeMap(to.Type()))
		for i := from.MapRange(); i.Next(); {
			value := reflect.New(to.Type().Elem()).Elem()
			copyView(value, i.Value())
			to.SetMapIndex(i.Key(), value)
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}
