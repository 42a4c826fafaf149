package core

import (
	"fmt"
	"time"
)

// Boot makes what every cluster has: four namespaces and two priority classes.
func (s *State) Boot(now time.Time) error {
	create := func(path, body string) error {
		a := s.Step(now, Request{Method: "POST", URL: path, ContentType: contentJSON, UserAgent: "kube-apiserver", User: "system:apiserver", Groups: []string{"system:masters"}, Body: []byte(body)})
		if a.Code != 201 {
			return fmt.Errorf("apiserver: start: %s answered %d: %s", path, a.Code, a.Body)
		}
		return nil
	}
	for _, name := range []string{"default", "kube-node-lease", "kube-public", "kube-system"} {
		if err := create("/api/v1/namespaces", fmt.Sprintf(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":%q}}`, name)); err != nil {
			return err
		}
	}
	for _, c := range classes {
		body := fmt.Sprintf(`{"apiVersion":"scheduling.k8s.io/v1","kind":"PriorityClass","metadata":{"name":%q},"value":%d,"description":%q}`, c.name, c.value, c.description)
		if err := create("/apis/scheduling.k8s.io/v1/priorityclasses", body); err != nil {
			return err
		}
	}
	return nil
}

// classes are the priority classes of every cluster.
var classes = []struct {
	name        string
	value       int
	description string
}{
	{"system-cluster-critical", 2000000000, "Used for system critical pods that must run in the cluster, but can be moved to another node if necessary."},
	{"system-node-critical", 2000001000, "Used for system critical pods that must not be moved from their current node."},
}
