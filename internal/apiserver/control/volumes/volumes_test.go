package volumes

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
)

func aVolume(t *testing.T, name, size, more string) *corev1.PersistentVolume {
	return controltest.Parse[corev1.PersistentVolume](t, `{"metadata":{"name":"`+name+`","labels":{"l":"`+name+`"}},"spec":{"storageClassName":"c","capacity":{"storage":"`+size+`"},"accessModes":["ReadWriteOnce"]`+more+`},"status":{"phase":"Available"}}`)
}

func aClaim(t *testing.T, spec, more string) *corev1.PersistentVolumeClaim {
	return controltest.Parse[corev1.PersistentVolumeClaim](t, `{"metadata":{"name":"claim","namespace":"ns","uid":"claim"`+more+`},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"5Gi"}}`+spec+`},"status":{"phase":"Pending"}}`)
}

// said returns requests as "PATCH claim/status {…}", without what makes them safe.
func said(t *testing.T, c *calls.Calls) (out []string) {
	for _, r := range c.List {
		var body map[string]any
		if err := json.Unmarshal(r.Body, &body); err != nil {
			t.Fatal(err)
		}
		if m, ok := body["metadata"].(map[string]any); ok {
			delete(m, "uid")
			delete(m, "resourceVersion")
			if len(m) == 0 {
				delete(body, "metadata")
			}
		}
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(r.URL, "/persistentvolume")
		_, name, _ = strings.Cut(name, "/")
		out = append(out, fmt.Sprintf("%s %s %s", r.Method, name, text))
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
	bound := func(name, before string) []string {
		return []string{
			`PATCH ` + name + ` {` + before + `"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"claim","namespace":"ns","uid":"claim"}}}`,
			`PATCH ` + name + `/status {"status":{"phase":"Bound"}}`,
			`PATCH claim {"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes","pv.kubernetes.io/bound-by-controller":"yes"}},"spec":{"volumeName":"` + name + `"}}`,
			`PATCH claim/status {"status":{"accessModes":["ReadWriteOnce"],"capacity":{"storage":"SIZE"},"phase":"Bound"}}`,
		}
	}
	const byController = `"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":"yes"}},`
	for _, c := range []struct {
		name    string
		claim   *corev1.PersistentVolumeClaim
		volumes []*corev1.PersistentVolume
		used    bool
		want    []string
	}{
		{"the smallest", aClaim(t, class, ""), others, false, bound("fit", byController)},
		{"one that is reserved", aClaim(t, class, ""), append(slices.Clone(others), reserved), false, bound("reserved", "")},
		{"by a label", aClaim(t, class+`,"selector":{"matchLabels":{"l":"large"}}`, ""), others, false, bound("large", byController)},
		{"by name", aClaim(t, class+`,"volumeName":"large"`, ""), others, false, []string{
			bound("large", byController)[0], bound("large", "")[1],
			`PATCH claim {"metadata":{"annotations":{"pv.kubernetes.io/bind-completed":"yes"}},"spec":{}}`, bound("large", "")[3]}},
		{"by name, too small", aClaim(t, class+`,"volumeName":"small"`, ""), others, false, nil},
		{"by name, taken", aClaim(t, class+`,"volumeName":"taken"`, ""), others, false, nil},
		{"no class", aClaim(t, `,"storageClassName":""`, ""), others, false, nil},
		{"the default class", aClaim(t, "", ""), others, false, []string{`PATCH claim {"spec":{"storageClassName":"soon"}}`}},
		{"a provisioner", aClaim(t, `,"storageClassName":"soon"`, ""), others, false, []string{`PATCH claim {"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-provisioner":"p","volume.kubernetes.io/storage-provisioner":"p"}}}`}},
		{"later", aClaim(t, `,"storageClassName":"later"`, ""), others, false, nil},
		{"now", aClaim(t, `,"storageClassName":"later"`, ""), others, true, []string{`PATCH claim {"metadata":{"annotations":{"volume.beta.kubernetes.io/storage-provisioner":"p","volume.kubernetes.io/storage-provisioner":"p"}}}`}},
		{"lost", aClaim(t, class+`,"volumeName":"gone"`, `,"annotations":{"pv.kubernetes.io/bind-completed":"yes"}`), others, false, []string{`PATCH claim/status {"status":{"phase":"Lost"}}`}},
	} {
		w := &world{volumes: c.volumes, classes: []*storagev1.StorageClass{later, soon}, used: func(*corev1.PersistentVolumeClaim) bool { return c.used }}
		calls := &calls.Calls{}
		w.claim(calls, c.claim)
		for i := range c.want {
			size := "9Gi"
			if strings.Contains(c.want[0], "fit") {
				size = "6Gi"
			}
			c.want[i] = strings.Replace(c.want[i], "SIZE", size, 1)
		}
		if got := said(t, calls); !slices.Equal(got, c.want) {
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
		{"the claim is gone", aVolume(t, "v", "1Gi", ref), nil, []string{`PATCH v/status {"status":{"phase":"Released"}}`}},
		{"bound", aVolume(t, "v", "1Gi", ref), aClaim(t, `,"volumeName":"v"`, ""), []string{`PATCH v/status {"status":{"phase":"Bound"}}`}},
		{"the claim's turn", aVolume(t, "v", "1Gi", ref), aClaim(t, "", ""), nil},
		{"the claim has another", aVolume(t, "v", "1Gi", ref), aClaim(t, `,"volumeName":"w"`, ""), []string{`PATCH v {"spec":{"claimRef":{"uid":null}}}`}},
		{"the claim was given another", byController, aClaim(t, `,"volumeName":"w"`, ""), []string{`PATCH v {"metadata":{"annotations":{"pv.kubernetes.io/bound-by-controller":null}},"spec":{"claimRef":null}}`}},
	} {
		calls := &calls.Calls{}
		volume(calls, c.volume, c.claim)
		if got := said(t, calls); !slices.Equal(got, c.want) {
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
		{`[]`, false, false, []string{`PATCH claim {"metadata":{"finalizers":["f"]}}`}},
		{`["f"]`, false, false, nil},
		{`["e","f"]`, true, true, nil},
		{`["e","f"]`, true, false, []string{`PATCH claim {"metadata":{"finalizers":["e"]}}`}},
		{`["e"]`, true, false, nil},
	} {
		more := `,"finalizers":` + c.finalizers
		if c.deleted {
			more += `,"deletionTimestamp":"2026-01-01T00:00:00Z"`
		}
		calls := &calls.Calls{}
		protect(calls, aClaim(t, "", more), "f", func() bool { return c.used })
		if got := said(t, calls); !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
