// Package scale has the controllers that read the size of workloads: that of horizontal pod autoscalers, without
// metrics, and that of pod disruption budgets.
package scale

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strings"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

// builtIn has the resources of the built-in workload kinds. Some have no subresource scale.
var builtIn = map[schema.GroupKind]string{
	{Group: "apps", Kind: "Deployment"}:         "deployments",
	{Group: "apps", Kind: "ReplicaSet"}:         "replicasets",
	{Group: "apps", Kind: "StatefulSet"}:        "statefulsets",
	{Group: "", Kind: "ReplicationController"}:  "replicationcontrollers",
	{Group: "apps", Kind: "DaemonSet"}:          "daemonsets", // has none
	{Group: "batch", Kind: "Job"}:               "jobs",       // has none
	{Group: "apps", Kind: "ControllerRevision"}: "controllerrevisions",
}

// resource returns the resource of a kind, in a version that is served.
func resource(s *control.State, apiVersion, kind string) (control.Kind, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return control.Kind{}, err
	}
	if name := builtIn[schema.GroupKind{Group: gv.Group, Kind: kind}]; name != "" {
		return control.NewKind(gv.Group, "v1", name), nil
	}
	if d := control.DefinitionOf(s, gv.Group, kind); d != nil {
		version := ""
		for _, v := range d.Spec.Versions {
			if v.Served && (version == "" || v.Name == gv.Version) {
				version = v.Name
			}
		}
		return control.NewKind(gv.Group, version, d.Spec.Names.Plural), nil
	}
	return control.Kind{}, fmt.Errorf("no matches for kind %q in group %q", kind, gv.Group)
}

// scaleOf returns the scale of an object, and the resource of the object.
func scaleOf(now time.Time, s *control.State, u control.User, apiVersion, kind, ns, name string) (*autoscalingv1.Scale, control.Kind, error) {
	k, err := resource(s, apiVersion, kind)
	if err != nil {
		return nil, k, err
	}
	a := s.Read(now, core.Request{Method: http.MethodGet, URL: k.Path(ns, name, "scale"), Accept: "application/json", User: u.Name, Groups: u.Groups})
	if a.Code != http.StatusOK {
		var status metav1.Status
		if err := json.Unmarshal(a.Body, &status); err != nil || status.Message == "" {
			return nil, k, fmt.Errorf("the server answered %d", a.Code)
		}
		return nil, k, statusError{status}
	}
	scale := &autoscalingv1.Scale{}
	if err := json.Unmarshal(a.Body, scale); err != nil {
		return nil, k, err
	}
	return scale, k, nil
}

// statusError is a Status of the server as an error.
type statusError struct{ metav1.Status }

func (e statusError) Error() string { return e.Message }

// groupResource returns the name of a resource in messages: resource.group.
func groupResource(apiVersion string, k control.Kind) string {
	name := path.Base(k.Path("", "", ""))
	if group, _, ok := strings.Cut(apiVersion, "/"); ok {
		return name + "." + group
	}
	return name
}
