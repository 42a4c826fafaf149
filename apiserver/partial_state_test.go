package apiserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/flyball-io/flyball/apiserver"
	"github.com/flyball-io/flyball/internal/tier"
)

const anyTemplate = `{"metadata":{"labels":{"a":"b"}},"spec":{"restartPolicy":"RESTART","containers":[{"name":"c","image":"i"}]}}`

// controlledObjects are one of each kind that controllers read.
var controlledObjects = [][2]string{
	{"/apis/apps/v1/namespaces/default/deployments", `{"metadata":{"name":"x"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":` + strings.Replace(anyTemplate, "RESTART", "Always", 1) + `}}`},
	{"/apis/apps/v1/namespaces/default/statefulsets", `{"metadata":{"name":"x"},"spec":{"replicas":1,"serviceName":"x","selector":{"matchLabels":{"a":"b"}},"template":` + strings.Replace(anyTemplate, "RESTART", "Always", 1) + `}}`},
	{"/apis/apps/v1/namespaces/default/daemonsets", `{"metadata":{"name":"x"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":` + strings.Replace(anyTemplate, "RESTART", "Always", 1) + `}}`},
	{"/apis/batch/v1/namespaces/default/jobs", `{"metadata":{"name":"x"},"spec":{"template":` + strings.Replace(anyTemplate, "RESTART", "Never", 1) + `}}`},
	{"/apis/batch/v1/namespaces/default/cronjobs", `{"metadata":{"name":"x"},"spec":{"schedule":"* * * * *","jobTemplate":{"spec":{"template":` + strings.Replace(anyTemplate, "RESTART", "Never", 1) + `}}}}`},
	{"/api/v1/namespaces/default/replicationcontrollers", `{"metadata":{"name":"x"},"spec":{"replicas":1,"selector":{"a":"b"},"template":` + strings.Replace(anyTemplate, "RESTART", "Always", 1) + `}}`},
	{"/api/v1/namespaces/default/services", `{"metadata":{"name":"x"},"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}}`},
	{"/api/v1/namespaces/default/persistentvolumeclaims", `{"metadata":{"name":"x"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}}`},
	{"/api/v1/namespaces/default/resourcequotas", `{"metadata":{"name":"x"},"spec":{"hard":{"pods":"100"}}}`},
	{"/apis/policy/v1/namespaces/default/poddisruptionbudgets", `{"metadata":{"name":"x"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"b"}}}}`},
	{"/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", `{"metadata":{"name":"x"},"spec":{"maxReplicas":3,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"x"}}}`},
}

// A state may have objects that no server stores, since files can be edited. Whichever field of an object is missing:
// it is refused, or the server goes on. A controller that cannot work with it says so, and names the object. Outside of
// the audit every fourth field is tried, and all selectors.
func TestStatesWithMissingFields(t *testing.T) {
	var lines bytes.Buffer
	clock := time.Date(2026, 5, 1, 12, 0, 30, 0, time.UTC)
	s := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}, Progress: &lines, Now: func() time.Time { return clock }})
	for _, o := range controlledObjects {
		send(t, s, "POST", o[0], o[1], http.StatusCreated)
	}
	restsAfter(t, s, "the objects are there")
	var text bytes.Buffer
	if err := s.Export(&text); err != nil {
		t.Fatal(err)
	}
	whole := strings.Split(text.String(), "\n---\n")
	seen, refused := map[string]bool{}, 0
	for i, document := range whole {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatal(err)
		}
		kind, _ := o["kind"].(string)
		if i == 0 || seen[kind] || !slices.Contains(partialKinds, kind) {
			continue
		}
		seen[kind] = true
		for n, path := range fieldPaths(o, nil) {
			if !tier.InAudit() && n%4 != 0 && path[len(path)-1] != "selector" {
				continue
			}
			parts := slices.Clone(whole)
			edited, err := yaml.Marshal(without(o, path))
			if err != nil {
				t.Fatal(err)
			}
			parts[i] = strings.TrimSuffix(string(edited), "\n")
			what := fmt.Sprintf("%s without %s", kind, strings.Join(path, "."))
			if err := s.Import(strings.NewReader(strings.Join(parts, "\n---\n"))); err != nil {
				refused++
				continue
			}
			restsAfter(t, s, what)
		}
	}
	if missing := slices.DeleteFunc(slices.Clone(partialKinds), func(k string) bool { return seen[k] }); len(missing) > 0 {
		t.Errorf("no object of %v", missing)
	}
	if refused == 0 || !strings.Contains(lines.String(), "cannot reconcile /apps/deployments/default/x: its selector is missing") {
		t.Errorf("%d states were refused; controllers have said:\n%s", refused, lines.String())
	}
}

var partialKinds = []string{"Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Job", "CronJob", "ReplicationController", "Service", "Endpoints", "EndpointSlice", "PersistentVolumeClaim",
	"ResourceQuota", "PodDisruptionBudget", "HorizontalPodAutoscaler", "Pod", "Node", "Namespace", "ControllerRevision"}

// restsAfter waits until the controllers have come to rest, and the server answers.
func restsAfter(t *testing.T, s *apiserver.Server, what string) {
	t.Helper()
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Minute, fmt.Errorf("the controllers do not come to rest"))
	defer cancel()
	if err := s.Settle(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	resp, err := httpClient(t, s.RESTConfig()).Get(s.URL() + "/readyz")
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d, %v", what, resp.StatusCode, err)
	}
}

// fieldPaths returns the paths of all fields of an object, down to three levels below its sections.
func fieldPaths(o map[string]any, above []string) (out [][]string) {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		path := append(slices.Clone(above), name)
		if name == "managedFields" || len(path) == 1 && (name == "kind" || name == "apiVersion") {
			continue
		}
		out = append(out, path)
		if below, ok := o[name].(map[string]any); ok && len(path) < 4 {
			out = append(out, fieldPaths(below, path)...)
		}
	}
	return out
}

// without returns a copy of an object that lacks a field.
func without(o map[string]any, path []string) map[string]any {
	out := maps.Clone(o)
	if len(path) == 1 {
		delete(out, path[0])
		return out
	}
	out[path[0]] = without(o[path[0]].(map[string]any), path[1:])
	return out
}
