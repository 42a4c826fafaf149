package volumes

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

func aVolume(t *testing.T, name, size, more string) *corev1.PersistentVolume {
	return controltest.Parse[corev1.PersistentVolume](t, `{"metadata":{"name":"`+name+`","labels":{"l":"`+name+`"}},"spec":{"storageClassName":"c","capacity":{"storage":"`+size+`"},"accessModes":["ReadWriteOnce"]`+more+`},"status":{"phase":"Available"}}`)
}

func aClaim(t *testing.T, spec, more string) *corev1.PersistentVolumeClaim {
	return controltest.Parse[corev1.PersistentVolumeClaim](t, `{"metadata":{"name":"claim","namespace":"ns","uid":"claim"`+more+`},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}`+spec+`},"status":{"phase":"Pending"}}`)
}

// said returns requests as "PUT claim/status {…}", with what they change of the objects.
func said[T metav1.Object](t *testing.T, c *calls.Calls, objects ...T) (out []string) {
	for _, r := range c.List {
		_, path, _ := strings.Cut(r.URL, "/persistentvolume")
		_, path, _ = strings.Cut(path, "/")
		name, _, _ := strings.Cut(path, "/")
		var was, is any
		for _, o := range objects {
			if o.GetName() == name {
				text, err := json.Marshal(o)
				if err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(text, &was); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := json.Unmarshal(r.Body, &is); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(changed(was, is))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s %s %s", r.Method, path, text))
	}
	return out
}

// changed returns the merge patch from one value to another.
func changed(was, is any) any {
	a, ok := was.(map[string]any)
	b, both := is.(map[string]any)
	if !ok || !both {
		return is
	}
	out := map[string]any{}
	for key := range a {
		if _, there := b[key]; !there {
			out[key] = nil
		}
	}
	for key, value := range b {
		if !reflect.DeepEqual(a[key], value) {
			out[key] = changed(a[key], value)
		}
	}
	return out
}

const class = `,"storageClassName":"c"`

func TestClaims(t *testing.T) {
	small, fit, large := aVolume(t, "small", "1Gi", ""), aVolume(t, "fit", "6Gi", ""), aVolume(t, "large", "9Gi", "")
	shared := aVolume(t, "a-shared", "6Gi", "")
	shared.Spec.AccessModes = append(shared.Spec.AccessModes, corev1.ReadOnlyMany)
	taken := aVolume(t, "taken", "6Gi", `,"claimRef":{"namespace":"ns","name":"another"}`)
	reserved := aVolume(t, "reserved", "9Gi", `,"claimRef":{"namespace":"ns","name":"claim"}`)
	block := aVolume(t, "block", "6Gi", `,"volumeMode":"Block"`)
	others := []*corev1.PersistentVolume{small, large, taken, block, shared, fit}
	later := controltest.Parse[storagev1.StorageClass](t, `{"metadata":{"name":"later"},"provisioner":"p","volumeBindingMode":"WaitForFirstConsumer"}`)
	soon := controltest.Parse[storagev1.StorageClass](t, `{"metadata":{"name":"soon","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},"provisioner":"p","volumeBindingMode":"Immediate"}`)
	bound := func(name, before string) []string { // what they have in their status is written when they have changed
		return []string{
			`PUT ` + name + ` {` + before + `"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"claim","namespace":"ns","uid":"claim"}}}`,
			`PUT claim {"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes","pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"volumeName":"` + name + `"}}`,
		}
	}
	const byController = `"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},`
	for _, c := range []struct {
		name    string
		claim   *corev1.PersistentVolumeClaim
		volumes []*corev1.PersistentVolume
		want    []string
	}{
		{"the smallest", aClaim(t, class, ""), others, bound("fit", byController)},
		{"one that is reserved", aClaim(t, class, ""), append(slices.Clone(others), reserved), []string{
			`PUT reserved {"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","uid":"claim"}}}`, bound("reserved", "")[1]}},
		{"by a label", aClaim(t, class+`,"selector":{"matchLabels":{"l":"large"}}`, ""), others, bound("large", byController)},
		{"by name", aClaim(t, class+`,"volumeName":"large"`, ""), others, []string{
			bound("large", byController)[0], `PUT claim {"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}}}`}},
		{"by name, too small", aClaim(t, class+`,"volumeName":"small"`, ""), others, nil},
		{"by name, taken", aClaim(t, class+`,"volumeName":"taken"`, ""), others, nil},
		{"no class", aClaim(t, `,"storageClassName":""`, ""), others, nil},
		{"the default class", aClaim(t, "", ""), others, []string{`PUT claim {"spec":{"storageClassName":"soon"}}`}},
		{"a provisioner", aClaim(t, `,"storageClassName":"soon"`, ""), others, []string{`PUT claim {"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-provisioner":"p","volume.kubernetes.io/storage-provisioner":"p"}}}`}},
		{"later", aClaim(t, `,"storageClassName":"later"`, ""), others, nil},
		{"now", aClaim(t, `,"storageClassName":"later"`, `,"annotations":{"volume.kubernetes.io/selected-node":"n"}`), others, []string{`PUT claim {"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-provisioner":"p","volume.kubernetes.io/storage-provisioner":"p"}}}`}},
		{"bound to each other", aClaim(t, class+`,"volumeName":"own"`, `,"annotations":{"pv.kubernetes.io/bind-completed":"yes"}`), []*corev1.PersistentVolume{
			aVolume(t, "own", "6Gi", `,"claimRef":{"namespace":"ns","name":"claim","uid":"claim"}`)}, []string{
			`PUT own/status {"status":{"phase":"Bound"}}`, `PUT claim/status {"status":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"6Gi"},"phase":"Bound"}}`}},
		{"lost", aClaim(t, class+`,"volumeName":"gone"`, `,"annotations":{"pv.kubernetes.io/bind-completed":"yes"}`), others, []string{`PUT claim/status {"status":{"phase":"Lost"}}`}},
	} {
		w := &world{volumes: c.volumes, classes: []*storagev1.StorageClass{later, soon}, unplaced: func(*corev1.PersistentVolumeClaim) []string { return nil }}
		calls := &calls.Calls{}
		w.claim(calls, c.claim)
		objects := []metav1.Object{c.claim}
		for _, v := range c.volumes {
			objects = append(objects, v)
		}
		if got := said(t, calls, objects...); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestVolumes(t *testing.T) {
	const ref = `,"claimRef":{"namespace":"ns","name":"claim","uid":"claim"}`
	byController := aVolume(t, "v", "1Gi", ref)
	byController.Annotations = map[string]string{boundByController: "yes"}
	for _, c := range []struct {
		name   string
		volume *corev1.PersistentVolume
		claim  *corev1.PersistentVolumeClaim
		want   []string
	}{
		{"free", aVolume(t, "v", "1Gi", ""), nil, nil},
		{"reserved", aVolume(t, "v", "1Gi", `,"claimRef":{"namespace":"ns","name":"claim"}`), nil, nil},
		{"the claim is gone", aVolume(t, "v", "1Gi", ref), nil, []string{`PUT v/status {"status":{"phase":"Released"}}`}},
		{"bound", aVolume(t, "v", "1Gi", ref), aClaim(t, `,"volumeName":"v"`, ""), []string{`PUT v/status {"status":{"phase":"Bound"}}`}},
		{"the claim's turn", aVolume(t, "v", "1Gi", ref), aClaim(t, "", ""), nil},
		{"the claim has another", aVolume(t, "v", "1Gi", ref), aClaim(t, `,"volumeName":"w"`, ""), []string{`PUT v {"spec":{"claimRef":{"uid":null}}}`}},
		{"the claim was given another", byController, aClaim(t, `,"volumeName":"w"`, ""), []string{`PUT v {"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":null}},"spec":{"claimRef":null}}`}},
	} {
		calls := &calls.Calls{}
		volume(calls, c.volume, c.claim)
		if got := said(t, calls, c.volume); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A finalizer goes when the object is deleted and not in use.
func TestProtect(t *testing.T) {
	for _, c := range []struct {
		finalizers    string
		deleted, used bool
		want          []string
	}{
		{`[]`, false, false, []string{`PUT claim {"metadata":{"finalizers":["f"]}}`}},
		{`["f"]`, false, false, nil},
		{`["e","f"]`, true, true, nil},
		{`["e","f"]`, true, false, []string{`PUT claim {"metadata":{"finalizers":["e"]}}`}},
		{`["e"]`, true, false, nil},
	} {
		more := `,"finalizers":` + c.finalizers
		if c.deleted {
			more += `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
		}
		calls := &calls.Calls{}
		claim := aClaim(t, "", more)
		protect(calls, claim, "f", func() bool { return c.used })
		if got := said(t, calls, claim); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
