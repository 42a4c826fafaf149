package scaler

import (
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/labels"
)

func TestReplicas(t *testing.T) {
	for _, tc := range []struct {
		annotations map[string]string
		pods        int
		want        int32
	}{
		{nil, 0, 0},
		{nil, 1, 1},
		{nil, 10, 1},
		{nil, 11, 2},
		{nil, 95, 10},
		{nil, 100, 10},
		{map[string]string{PodsPerReplica: "1"}, 7, 7},
		{map[string]string{PodsPerReplica: "2147483647"}, 7, 1},
		{map[string]string{MinReplicas: "2"}, 0, 2},
		{map[string]string{MinReplicas: "2"}, 21, 3},
		{map[string]string{MaxReplicas: "3"}, 95, 3},
		{map[string]string{MaxReplicas: "0"}, 95, 0},
		{map[string]string{MinReplicas: "4", MaxReplicas: "4"}, 95, 4},
	} {
		_, replicas, err := parse(tc.annotations)
		if err != nil {
			t.Errorf("%v: %v", tc.annotations, err)
		} else if got := replicas(tc.pods); got != tc.want {
			t.Errorf("%v: %d Pods call for %d replicas, want %d", tc.annotations, tc.pods, got, tc.want)
		}
	}
}

func TestSelector(t *testing.T) {
	pods, _, err := parse(map[string]string{Selector: "app=myapp,tier!=test"})
	if err != nil {
		t.Fatal(err)
	}
	if !pods.Matches(labels.Set{"app": "myapp"}) || pods.Matches(labels.Set{"app": "myapp", "tier": "test"}) {
		t.Errorf("%v", pods)
	}
}

// Whatever is wrong, the error names the annotation and its value.
func TestBadAnnotations(t *testing.T) {
	for _, bad := range []map[string]string{
		{Selector: "a=b=c"},
		{Selector: "app in ("},
		{Selector: "-bad-=x"},
		{PodsPerReplica: "0"},
		{PodsPerReplica: ""},
		{PodsPerReplica: "-1"},
		{PodsPerReplica: "1.5"},
		{PodsPerReplica: "ten"},
		{PodsPerReplica: "2147483648"},
		{MinReplicas: "-1"},
		{MinReplicas: "99999999999999999999"},
		{MaxReplicas: " 1"},
		{MaxReplicas: "1\xff"},
	} {
		for name, value := range bad {
			_, _, err := parse(bad)
			if err == nil || !strings.Contains(err.Error(), name+"="+strconv.Quote(value)) {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
	_, _, err := parse(map[string]string{MinReplicas: "5", MaxReplicas: "4"})
	if err == nil || !strings.Contains(err.Error(), MaxReplicas+`="4"`) || !strings.Contains(err.Error(), "from 5 ") {
		t.Errorf("a maximum below the minimum: %v", err)
	}
	_, _, err = parse(map[string]string{PodsPerReplica: "x", MinReplicas: "y"})
	if err == nil || !strings.Contains(err.Error(), PodsPerReplica) {
		t.Errorf("of two the first: %v", err)
	}
}

// FuzzParse: whatever the annotations say, there is an error, or a number within the bounds.
func FuzzParse(f *testing.F) {
	f.Add("app=myapp", "10", "0", "5", 95)
	f.Add("app in (a, b)", "1", "3", "2", 0)
	f.Add("", "0", "-1", "x", -1)
	f.Fuzz(func(t *testing.T, selector, each, least, most string, pods int) {
		if pods < 0 {
			return
		}
		s, replicas, err := parse(map[string]string{Selector: selector, PodsPerReplica: each, MinReplicas: least, MaxReplicas: most})
		if err != nil {
			return
		}
		s.Matches(labels.Set{"app": "myapp"})
		if n, none, more := replicas(pods), replicas(0), replicas(pods/2); n < 0 || n < none || n < more {
			t.Errorf("%d Pods call for %d replicas, none for %d, half for %d", pods, n, none, more)
		}
	})
}
