package apiserver_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/client"
)

// Managed fields are in the order of the clock of the server, and those of one second by manager, whatever the clock of
// the rules says. So a write that changes nothing afterwards is none.
func TestManagedFieldsAreInOrder(t *testing.T) {
	managers := []string{"z", "b", "x"}
	for _, year := range []int{2001, 2060} {
		for step, want := range map[time.Duration][]string{0: {"b", "x", "z"}, time.Second: managers} {
			t.Run(fmt.Sprint(year, " ", step), func(t *testing.T) {
				now := time.Date(year, 2, 3, 4, 5, 6, 0, time.UTC)
				s := apiserver.Start(t, apiserver.Options{Now: func() time.Time { return now }})
				c := newClient(t, s)
				m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "m"}, Data: map[string]string{managers[0]: "v"}}
				m, err := client.Create(t.Context(), c, m, client.FieldOwner(managers[0]))
				if err != nil {
					t.Fatal(err)
				}
				for _, manager := range managers[1:] {
					now = now.Add(step)
					m.Data[manager] = "v"
					if m, err = client.Update(t.Context(), c, m, client.FieldOwner(manager)); err != nil {
						t.Fatal(err)
					}
				}
				var got []string
				for _, f := range m.ManagedFields {
					got = append(got, f.Manager)
				}
				if !slices.Equal(got, want) {
					t.Errorf("managers %v, want %v", got, want)
				}
				again, err := client.Update(t.Context(), c, m, client.FieldOwner(managers[0]))
				if err != nil || again.ResourceVersion != m.ResourceVersion {
					t.Errorf("%v, %v: a write that changes nothing has made a version", again, err)
				}
			})
		}
	}
}

// An apply that changes nothing makes no version, if that would not give its manager another place among the others.
func TestAppliesThatChangeNothing(t *testing.T) {
	for _, year := range []int{2001, 2060} {
		for _, step := range []time.Duration{0, time.Second} {
			t.Run(fmt.Sprint(year, " ", step), func(t *testing.T) {
				now := time.Date(year, 2, 3, 4, 5, 6, 0, time.UTC)
				s := apiserver.Start(t, apiserver.Options{Now: func() time.Time { return now }})
				c := &session{t: t, client: http.DefaultClient, url: s.URL()}
				apply := func(manager, metadata string) (version string) {
					_, _, text := c.send("PATCH", "/api/v1/namespaces/default/configmaps/m?fieldManager="+manager, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m",`+metadata+`}}`, "Content-Type", applyPatch)
					var m corev1.ConfigMap
					if err := json.Unmarshal(text, &m); err != nil || m.ResourceVersion == "" {
						t.Fatalf("%v: %s", err, text)
					}
					return m.ResourceVersion
				}
				apply("n", `"annotations":{"n":"v"}`)
				now = now.Add(step)
				version := apply("m", `"labels":null`)
				now = now.Add(step)
				if again := apply("m", `"labels":null`); again != version {
					t.Errorf("version %s after %s", again, version)
				}
			})
		}
	}
}
