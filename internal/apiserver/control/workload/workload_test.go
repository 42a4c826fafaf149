package workload

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/flyball-io/flyball/internal/apiserver/control/calls"
	"github.com/flyball-io/flyball/internal/apiserver/control/controltest"
	"github.com/flyball-io/flyball/internal/apiserver/control/pod"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// said returns requests as "POST pods db-0".
func said(c *calls.Calls) (out []string) {
	for _, r := range c.List {
		parts := strings.Split(r.URL, "/")
		name := path.Base(r.URL)
		kind := parts[len(parts)-2]
		if r.Method == "POST" {
			var o struct {
				Metadata struct{ Name, GenerateName string }
			}
			if err := json.Unmarshal(r.Body, &o); err != nil {
				panic(err)
			}
			if kind, name = name, o.Metadata.Name; name == "" {
				name = o.Metadata.GenerateName + "*"
			}
		}
		out = append(out, r.Method+" "+kind+" "+name)
	}
	return out
}

// expect compares what a step asks for.
func expect(t *testing.T, c *calls.Calls, want ...string) {
	t.Helper()
	if got := said(c); !slices.Equal(got, want) {
		t.Errorf("asked for\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// status decodes the status that the last request with one writes.
func status[T any](t *testing.T, c *calls.Calls) T {
	t.Helper()
	var o struct{ Status T }
	for _, r := range slices.Backward(c.List) {
		if strings.HasSuffix(r.URL, "/status") {
			if err := json.Unmarshal(r.Body, &o); err != nil {
				t.Fatal(err)
			}
			return o.Status
		}
	}
	t.Fatalf("no status is written: %v", said(c))
	return o.Status
}

// made returns the pods that are created, as the server has them.
func made(t *testing.T, c *calls.Calls) (out []*corev1.Pod) {
	t.Helper()
	for i, r := range c.List {
		if r.Method == "POST" && strings.HasSuffix(r.URL, "/pods") {
			p := controltest.Parse[corev1.Pod](t, string(r.Body))
			if p.Name == "" {
				p.Name = fmt.Sprintf("%s%d", p.GenerateName, i)
			}
			p.UID = types.UID(p.Name)
			p.CreationTimestamp = metav1.NewTime(start)
			p.Status.Phase = corev1.PodPending
			out = append(out, p)
		}
	}
	return out
}

// ready makes pods run.
func ready(pods ...*corev1.Pod) []*corev1.Pod {
	for _, p := range pods {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)}}
	}
	return pods
}

func TestSchedule(t *testing.T) {
	tokyo, err := time.LoadLocation("Asia/Tokyo")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text string
		zone *time.Location
		want string // the first times after the start, a Thursday
	}{
		{"* * * * *", time.UTC, "Jan 1 00:01, Jan 1 00:02"},
		{"*/15 2 * * *", time.UTC, "Jan 1 02:00, Jan 1 02:15"},
		{"5-7/2,9 0 * * *", time.UTC, "Jan 1 00:05, Jan 1 00:07"},
		{"30 6-16/4 * * 1-5", time.UTC, "Jan 1 06:30, Jan 1 10:30"},
		{"0 0 1 * *", time.UTC, "Feb 1 00:00, Mar 1 00:00"},
		{"0 0 1 * 1", time.UTC, "Jan 5 00:00, Jan 12 00:00"}, // either day
		{"0 0 * FEB Sat,sun", time.UTC, "Feb 1 00:00, Feb 7 00:00"},
		{"0 0 29 2 *", time.UTC, "Feb 29 00:00, Feb 29 00:00"},
		{"0 9 * * *", tokyo, "Jan 2 00:00, Jan 3 00:00"},
		{"TZ=Asia/Tokyo 0 10 * * ?", time.UTC, "Jan 1 01:00, Jan 2 01:00"},
		{"@hourly", time.UTC, "Jan 1 01:00, Jan 1 02:00"},
		{"@weekly", time.UTC, "Jan 4 00:00, Jan 11 00:00"},
		{"@every 90m", time.UTC, "Jan 1 01:30, Jan 1 03:00"},
		{"0 0 31 2 *", time.UTC, "never, never"},
		{"* * * *", nil, `the schedule "* * * *" has 4 fields, want 5`},
		{"60 * * * *", nil, `the minute "60" is not within 0 and 59`},
		{"5-3 * * * *", nil, `the minute "5-3" is not within 0 and 59`},
		{"*/0 * * * *", nil, `the minute "*/0" has no step`},
		{"* * * x *", nil, `the month "x" is no number`},
		{"@often", nil, `the schedule "@often" is not known`},
		{"TZ=No/Where * * * * *", nil, `the time zone "No/Where": unknown time zone No/Where`},
	} {
		s, err := parseSchedule(c.text, c.zone)
		got := fmt.Sprint(err)
		if err == nil {
			show := func(t time.Time) string {
				if t.IsZero() {
					return "never"
				}
				return t.Format("Jan 2 15:04")
			}
			first := s.next(start)
			second := first
			if !first.IsZero() {
				second = s.next(first)
			}
			got = show(first) + ", " + show(second)
		}
		if got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestIndexes(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 5, ""}, {"0", 5, "0"}, {"3,0,1", 5, "0,1,3"}, {"0-2,4", 5, "0-2,4"}, {"0-9", 3, "0-2"}, {"x,1-y,2", 5, "2"},
	} {
		if got := parseIndexes(c.text, c.limit).String(); got != c.want {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
}

func TestNodeMatches(t *testing.T) {
	node := controltest.Parse[corev1.Node](t, `{"metadata":{"name":"n","labels":{"zone":"a","cpus":"8"}},"spec":{"taints":[{"key":"k","value":"v","effect":"NoSchedule"}]}}`)
	for _, c := range []struct {
		spec string
		want bool
	}{
		{`{}`, true},
		{`{"nodeSelector":{"zone":"a"}}`, true},
		{`{"nodeSelector":{"zone":"b"}}`, false},
		{`[{"matchExpressions":[{"key":"zone","operator":"In","values":["a"]},{"key":"cpus","operator":"Gt","values":["4"]}]}]`, true},
		{`[{"matchExpressions":[{"key":"zone","operator":"NotIn","values":["a"]}]},{"matchExpressions":[{"key":"gpu","operator":"DoesNotExist"}]}]`, true},
		{`[{"matchExpressions":[{"key":"cpus","operator":"Lt","values":["4"]}]}]`, false},
		{`[{"matchExpressions":[{"key":"gpu","operator":"Exists"}]}]`, false},
		{`[{"matchFields":[{"key":"metadata.name","operator":"In","values":["n"]}]}]`, true},
		{`[{}]`, false},
	} {
		if strings.HasPrefix(c.spec, "[") {
			c.spec = `{"affinity":{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":` + c.spec + `}}}}`
		}
		if got := pod.MatchesNode(controltest.Parse[corev1.PodSpec](t, c.spec), node); got != c.want {
			t.Errorf("%s: %t", c.spec, got)
		}
	}
	for toleration, want := range map[string]bool{
		`{"key":"k","value":"v"}`: true, `{"key":"k","value":"w"}`: false, `{"operator":"Exists"}`: true, `{"key":"k","operator":"Exists","effect":"NoExecute"}`: false,
	} {
		if got := pod.Tolerates([]corev1.Toleration{*controltest.Parse[corev1.Toleration](t, toleration)}, node, corev1.TaintEffectNoSchedule); got != want {
			t.Errorf("%s: %t", toleration, got)
		}
	}
}
