package apiserver_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/object"
)

// reserved is a time that the first objects of servers have until a server begins.
const reserved = "1971-02-03T04:05:06Z"

// A definition of Options.CRDs is the object that its creation at the start would make, and a text in it stays.
func TestCRDsAreAsIfCreated(t *testing.T) {
	at := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, text := range map[string]string{
		"toys":                    toyCRD,
		"toys with a description": strings.Replace(toyCRD, "default: blue", "default: blue, description: since "+reserved, 1),
	} {
		t.Run(name, func(t *testing.T) {
			now := func() time.Time { return at }
			file := filepath.Join(folder(t, map[string]string{"toys.yaml": text}), "toys.yaml")
			made := apiserver.Start(t, apiserver.Options{Now: now, RBAC: true})
			made.Apply(file) // by server-side apply: its managed fields differ
			want := crd(t, made, "toys.example.com")
			for _, seed := range []string{"", "", "other"} {
				s := apiserver.Start(t, apiserver.Options{CRDs: file, Now: now, Seed: seed, RBAC: true})
				got := crd(t, s, "toys.example.com")
				if got.GetUID() == "" || seed != "" && got.GetUID() == crd(t, apiserver.Start(t, apiserver.Options{CRDs: file}), "toys.example.com").GetUID() {
					t.Errorf("seed %q: the uid %q is that of another seed", seed, got.GetUID())
				}
				for _, m := range got.GetManagedFields() {
					if !m.Time.Time.Equal(at) {
						t.Errorf("a managed field has the time %v", m.Time)
					}
				}
				got.SetUID(want.GetUID())
				got.SetManagedFields(want.GetManagedFields())
				if !reflect.DeepEqual(got, want) {
					t.Errorf("seed %q: the server begins with\n%v\nwant\n%v", seed, got, want)
				}
				body, err := json.Marshal(got)
				if err != nil {
					t.Fatal(err)
				}
				if n := strings.Count(string(body), reserved); n != strings.Count(text, reserved) {
					t.Errorf("%d texts are %s", n, reserved)
				}
			}
		})
	}
}

func crd(t *testing.T, s *apiserver.Server, name string) *unstructured.Unstructured {
	t.Helper()
	kind := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	got, err := client.Get[unstructured.Unstructured](t.Context(), newClient(t, s), object.Key{Name: name}, client.OfKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// The files are read again for each server: what has changed in between shows.
func TestCRDsThatChange(t *testing.T) {
	dir := folder(t, map[string]string{"toys.yaml": toyCRD})
	for _, color := range []string{"blue", "green"} {
		text := strings.Replace(toyCRD, "default: blue", "default: "+color, 1)
		if err := os.WriteFile(filepath.Join(dir, "toys.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(crd(t, apiserver.Start(t, apiserver.Options{CRDs: dir}), "toys.example.com"))
		if err != nil || !strings.Contains(string(body), color) {
			t.Errorf("%s: got %s, %v", color, body, err)
		}
	}
}

// A server with definitions that another one of the process has had.
func BenchmarkServerWithCRDs(b *testing.B) {
	for b.Loop() {
		s, err := apiserver.New(b.Context(), apiserver.Options{CRDs: "../../examples/guestbook/config/crd", InMemory: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
