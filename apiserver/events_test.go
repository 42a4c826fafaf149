package apiserver_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// eventsPath is the collection of Events. What they say is compared after each controlled case, see told.
const eventsPath = "~/events"

// told returns what the Events of the session's namespace say, each text once. How often and when is not in it.
func (s *session) told() (out []string) {
	s.t.Helper()
	_, _, text := s.send("GET", s.path(eventsPath), "")
	var list corev1.EventList
	if err := json.Unmarshal(text, &list); err != nil {
		s.t.Fatal(err)
	}
	many := map[string]bool{} // objects and reasons whose Events were combined: which ones are left is chance
	for _, e := range list.Items {
		if strings.HasPrefix(e.Message, "(combined") {
			many[string(e.InvolvedObject.UID)+e.Reason] = true
		}
	}
	for _, e := range list.Items {
		o := e.InvolvedObject
		message := e.Message
		switch {
		case many[string(o.UID)+e.Reason]:
			message, e.ReportingController = "many", ""
		case e.Reason == "MultiplePodDisruptionBudgets", strings.Contains(message, "unbound immediate PersistentVolumeClaims"), // DIFFERENCES.md
			e.Reason == "FailedUpdate" && strings.Contains(message, "the object has been modified"),                                                     // caches are late
			e.ReportingController == "ipallocator-repair-controller",                                                                                    // it looks at Services in a cache
			e.Reason == "WaitForFirstConsumer", e.Reason == "WaitForPodScheduled", strings.Contains(message, "waiting for ephemeral volume controller"), // it depends on when a claim is seen
			strings.Contains(s.ns, "statefulset-retention") && e.ReportingController == corev1.DefaultSchedulerName: // no volumes are there for its Pods
			continue
		}
		if strings.HasPrefix(e.ReportingInstance, e.ReportingController+"-") {
			e.ReportingInstance = "an instance"
		}
		text := fmt.Sprintf("Event of %s %s %s/%s %q, %s %s: %s (by %q, %q, %q, %q, with times %t, %t)", o.APIVersion, o.Kind, o.Namespace, o.Name, o.FieldPath, e.Type, e.Reason, message,
			e.Source.Component, e.ReportingController, e.ReportingInstance, e.Action, !e.FirstTimestamp.IsZero(), !e.EventTime.IsZero())
		out = append(out, generated.ReplaceAllString(chosen.ReplaceAllString(text, "$1-?????"), "-?????"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// generated is the end of a name that the server has chosen.
var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// Controllers write Events, unless that is switched off.
func TestEventsCanBeSwitchedOff(t *testing.T) {
	for _, c := range []struct {
		controllers []string
		want        int
	}{
		{[]string{"*"}, 1 + 2 + 2}, // of the Deployment, and of two Pods that were made and bound
		{[]string{"deployment", "replicaset", "events"}, 1 + 2},
		{[]string{"*", "-events"}, 0},
		{[]string{"deployment", "replicaset"}, 0},
	} {
		s, client := controlled(t, c.controllers...)
		create(t, client, sized("web", 2))
		settle(t, s)
		if got := len(listAll[corev1.Event](t, client)); got != c.want {
			t.Errorf("%v: %d Events, want %d", c.controllers, got, c.want)
		}
	}
}
