package core

import (
	"fmt"
	"time"
)

// boot makes the objects that every cluster has, without roles: four namespaces, two priority classes, the Service of
// the server, and the ServiceCIDR of its address.
func (s *State) boot(now time.Time) error {
	do := func(method, contentType, path, body string) error {
		a := s.Step(now, Request{Method: method, URL: path, ContentType: contentType, UserAgent: "kube-apiserver", User: "system:apiserver", Groups: []string{"system:masters"}, Body: []byte(body)})
		if a.Code >= 300 {
			return fmt.Errorf("start: %s answered %d: %s", path, a.Code, a.Body)
		}
		return nil
	}
	create := func(path, body string) error { return do("POST", contentJSON, path, body) }
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
	if err := create("/apis/networking.k8s.io/v1/servicecidrs", `{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"kubernetes"},"spec":{"cidrs":["10.0.0.0/16"]}}`); err != nil {
		return err
	}
	ready := fmt.Sprintf(`{"apiVersion":"networking.k8s.io/v1","kind":"ServiceCIDR","metadata":{"name":"kubernetes"},"status":{"conditions":[
		{"type":"Ready","status":"True","message":"Kubernetes default Service CIDR is ready","lastTransitionTime":%q}]}}`, now.UTC().Format(time.RFC3339))
	if err := do("PATCH", "application/apply-patch+yaml", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes/status?fieldManager=kubernetes-service-cidr-controller&force=true", ready); err != nil {
		return err
	}
	return create("/api/v1/namespaces/default/services", `{"apiVersion":"v1","kind":"Service","metadata":{"name":"kubernetes","labels":{"component":"apiserver","provider":"kubernetes"}},
		"spec":{"clusterIP":"10.0.0.1","ipFamilyPolicy":"SingleStack","ports":[{"name":"https","port":443,"targetPort":6443}]}}`)
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
