package demo

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/tape"
	"github.com/flyball-io/flyball/internal/tier"
)

// told tells the story once, quickly, with a tape.
func told(t *testing.T, tp *tape.Tape, pace time.Duration, after func(*steady)) {
	t.Helper()
	var out bytes.Buffer
	o := Options{Once: true, Pace: pace, Image: Image, Out: &out, Progress: io.Discard, after: after}
	if err := tellOn(tape.Into(t.Context(), tp), o); err != nil || !strings.Contains(out.String(), "All expectations held.") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// asMore asks for the scale of the Deployment after each request, as podscaler does when its cache is behind.
func askMore(t *testing.T) func(*steady) {
	return func(s *steady) {
		if s.namespace == "" || s.server.Settle(context.Background()) != nil {
			return
		}
		config := s.server.RESTConfig()
		config.UserAgent = name
		transport, err := rest.TransportFor(config)
		if err != nil {
			t.Error(err)
			return
		}
		r, err := http.NewRequest(http.MethodGet, s.server.URL()+"/apis/apps/v1/namespaces/"+s.namespace+"/deployments/"+deployment+"/scale", nil)
		if err != nil {
			t.Error(err)
			return
		}
		r.Header.Set("Accept", "application/json")
		resp, err := transport.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return
		}
		resp.Body.Close()
	}
}

// The recorded answers are those of the rules, and there is one for all that the story asks. UPDATE_GOLDEN=1 records them
// anew.
func TestAnswersAreThoseOfRules(t *testing.T) {
	tier.NotShort(t, "runs the rules of Kubernetes in a process of its own")
	data := answers
	if os.Getenv("UPDATE_GOLDEN") != "" {
		tp := tape.Record()
		for _, pace := range []time.Duration{time.Millisecond, 20 * time.Millisecond} {
			told(t, tp, pace, askMore(t))
		}
		var err error
		if data, err = tp.Bytes(); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("answers", data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// A machine that stands still for seconds makes podscaler ask what it asks nowhere else, such as for a list in pages. What
	// the rules answer otherwise they answer so each time that the story is told.
	var differ []string
	for range 5 {
		if differ = compared(t, data); len(differ) == 0 {
			return
		}
		for _, d := range differ {
			t.Log(d)
		}
	}
	t.Errorf("%d questions, such as %.2000s; record the answers anew with UPDATE_GOLDEN=1", len(differ), differ[0])
}

// compared tells the story with the rules, and returns the questions that the recorded answers do not answer as they do.
func compared(t *testing.T, data []byte) (differ []string) {
	t.Helper()
	var mu sync.Mutex
	tp, err := tape.Compare(data, func(req *rules.Request, problem string) {
		mu.Lock()
		defer mu.Unlock()
		differ = append(differ, fmt.Sprintf("%s %s: %s", req.Method, req.URL, problem))
	})
	if err != nil {
		t.Fatalf("%v; record them anew with UPDATE_GOLDEN=1", err)
	}
	told(t, tp, time.Millisecond, askMore(t))
	mu.Lock()
	defer mu.Unlock()
	return differ
}

// The story needs no rules, however long podscaler takes for what it does.
func TestStoryNeedsNoRules(t *testing.T) {
	tier.Audit(t, "depends on how long podscaler takes by the real clock")
	for _, slow := range []time.Duration{0, 2 * time.Millisecond, 20 * time.Millisecond} {
		missed := make(chan string, 1000)
		tp, err := tape.Replay(answers, func(req *rules.Request) { missed <- req.Method + " " + req.URL })
		if err != nil {
			t.Fatal(err)
		}
		told(t, tp, time.Millisecond, func(*steady) { time.Sleep(slow) }) // each request is slow
		select {
		case question := <-missed:
			t.Errorf("%v slow: %d questions have no answer, such as %s", slow, 1+len(missed), question)
		default:
		}
	}
}

// A story that asks something else says so, at once.
func TestStoryThatWasNotRecorded(t *testing.T) {
	o := Options{Once: true, Pace: time.Millisecond, Image: "another", Out: io.Discard, Progress: io.Discard}
	if err := replayed(t.Context(), o); err == nil || !strings.Contains(err.Error(), errMissed.Error()+": POST ") {
		t.Errorf("got %v", err)
	}
}
