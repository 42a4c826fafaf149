package events

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/internal/apiserver/control"
	"github.com/flyball-io/flyball/internal/apiserver/core"
)

const (
	accounts  = "system:serviceaccount:kube-system:"
	scheduler = "system:kube-scheduler"
)

// components are the names under which controllers write Events, where they are not those of their accounts.
var components = map[string]string{
	scheduler:                             corev1.DefaultSchedulerName,
	accounts + "daemon-set-controller":    "daemonset-controller",
	accounts + "disruption-controller":    "controllermanager",
	accounts + "persistent-volume-binder": "persistentvolume-controller",
}

func component(u control.User) string {
	return cmp.Or(components[u.Name], strings.TrimPrefix(u.Name, accounts))
}

// outcome is a request that creates or deletes, and what became of it.
type outcome struct {
	verb      string // Create or Delete
	resource  string
	namespace string
	name      string // "" if the server was to choose it and did not
	failed    bool
	why       metav1.Status
}

// did returns a text for a success and one for a failure.
func (o outcome) did(well, badly string) string {
	if o.failed {
		return badly
	}
	return well
}

// tellers find out what there is to tell of a request, by the user and the resource. Owner is the object because of
// which it was made.
var tellers = map[string]func(owner *control.Meta, o outcome) (reason, message string){
	accounts + "replicaset-controller pods":  ofPods,
	accounts + "replication-controller pods": ofPods,
	accounts + "daemon-set-controller pods":  ofPods,
	accounts + "job-controller pods":         ofPods,
	accounts + "deployment-controller replicasets": func(_ *control.Meta, o outcome) (string, string) {
		if !o.failed || o.why.Reason == metav1.StatusReasonAlreadyExists || o.verb != "Create" {
			return "", "" // it tells of its size
		}
		return "ReplicaSetCreateError", fmt.Sprintf("Failed to create new replica set %q: %s", o.name, o.why.Message)
	},
	accounts + "statefulset-controller pods": func(owner *control.Meta, o outcome) (string, string) {
		if o.why.Reason == metav1.StatusReasonAlreadyExists {
			return "", ""
		}
		return o.did("Successful", "Failed") + o.verb, fmt.Sprintf("%s Pod %s in StatefulSet %s ", o.verb, o.name, owner.Name) + o.did("successful", "failed error: "+o.why.Message)
	},
	accounts + "statefulset-controller persistentvolumeclaims": func(owner *control.Meta, o outcome) (string, string) {
		if o.verb != "Create" || o.why.Reason == metav1.StatusReasonAlreadyExists {
			return "", ""
		}
		pod := owner.Name + o.name[strings.LastIndexByte(o.name, '-'):]
		return o.did("Successful", "Failed") + o.verb, fmt.Sprintf("%s Claim %s %sPod %s in StatefulSet %s ", o.verb, o.name, o.did("", "for "), pod, owner.Name) + o.did("success", "failed error: "+o.why.Message)
	},
	accounts + "cronjob-controller jobs": func(_ *control.Meta, o outcome) (string, string) {
		switch {
		case o.verb == "Delete":
			return o.did("SuccessfulDelete", "FailedDelete"), o.did("Deleted job "+o.name, "Deleted job: "+o.why.Message)
		case o.why.Reason == metav1.StatusReasonAlreadyExists:
			return "", ""
		}
		return o.did("SuccessfulCreate", "FailedCreate"), o.did("Created job "+o.name, "Error creating job: "+o.why.Message)
	},
}

// ofPods tells of the Pods of controllers that make one like the other.
func ofPods(_ *control.Meta, o outcome) (string, string) {
	if o.verb == "Delete" {
		return o.did("SuccessfulDelete", "FailedDelete"), o.did("Deleted pod: "+o.name, "Error deleting: "+o.why.Message)
	}
	return o.did("SuccessfulCreate", "FailedCreate"), o.did("Created pod: "+o.name, "Error creating: "+o.why.Message)
}

// Answered tells of a request what the controller that has made it would tell.
func (r *recorder) Answered(now time.Time, s *control.State, q control.Request, a core.Answer) {
	if q.Method != http.MethodPost && q.Method != http.MethodDelete || a.Code == 0 {
		return
	}
	e := control.Event{User: control.User{Name: q.User, Groups: q.Groups, Agent: q.UserAgent}, Key: q.Key}
	if q.User == scheduler {
		if p := control.Get[corev1.Pod](s, q.Key); p != nil && strings.HasSuffix(q.URL, "/binding") && a.Code < 300 {
			e.Reason, e.Message, e.Action = "Scheduled", fmt.Sprintf("Successfully assigned %s/%s to %s", p.Namespace, p.Name, boundTo(q.Body)), "Binding"
			r.Tell(now, s, e)
		}
		return
	}
	o, ok := outcomeOf(q, a)
	teller, owner := tellers[q.User+" "+o.resource], s.Meta(q.Key)
	if !ok || teller == nil || owner == nil {
		return
	}
	if e.Reason, e.Message = teller(owner, o); e.Reason != "" {
		e.Warning = o.failed
		r.Tell(now, s, e)
	}
}

// outcomeOf returns what became of a request. It is not ok if nobody tells of such ones: the deletion of what is gone,
// and creations where a namespace goes.
func outcomeOf(q control.Request, a core.Answer) (o outcome, ok bool) {
	parts := strings.Split(strings.TrimPrefix(q.URL, "/"), "/") // api v1 namespaces ns pods, or apis group v1 …
	at := slices.Index(parts, "namespaces")
	if at < 0 || len(parts) < at+3 {
		return o, false
	}
	o.namespace, o.resource, o.failed = parts[at+1], parts[at+2], a.Code >= 300
	if o.verb = "Create"; q.Method == http.MethodDelete {
		o.verb = "Delete"
	}
	switch rest := parts[at+3:]; {
	case len(rest) > 1 || (len(rest) == 1) != (o.verb == "Delete"):
		return o, false
	case len(rest) == 1:
		o.name = rest[0]
	case o.failed:
		o.name = nameIn(q.Body)
	default:
		o.name = nameIn(a.Body)
	}
	if o.failed {
		if json.Unmarshal(a.Body, &o.why) != nil {
			o.why.Message = string(a.Body)
		}
	}
	gone := o.verb == "Delete" && a.Code == http.StatusNotFound
	ends := o.why.Details != nil && slices.ContainsFunc(o.why.Details.Causes, func(c metav1.StatusCause) bool { return c.Type == corev1.NamespaceTerminatingCause })
	return o, !gone && !ends
}

func nameIn(body []byte) string {
	var o struct {
		Metadata struct{ Name string } `json:"metadata"`
	}
	_ = json.Unmarshal(body, &o) // bodies of controllers and of successful answers are objects
	return o.Metadata.Name
}

// boundTo returns the node of a binding.
func boundTo(body []byte) string {
	var b corev1.Binding
	_ = json.Unmarshal(body, &b) // the scheduler has made it
	return b.Target.Name
}
