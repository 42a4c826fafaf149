package tape_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/tape"
)

// echo answers with a write of the body.
func echo(req *rules.Request) (*rules.Answer, error) {
	return &rules.Answer{Code: 201, Body: req.Body, Writes: []rules.Write{{Key: req.URL, Version: req.Version + 1, Object: json.RawMessage(req.Body)}}}, nil
}

func questions() (out []*rules.Request) {
	for i := range 20 {
		out = append(out, &rules.Request{Method: "POST", URL: fmt.Sprint("/api/v1/things/", i), Body: fmt.Appendf(nil, `{"n":%d}`, i), Version: uint64(i), Objects: map[string]json.RawMessage{"/a": nil, "/b": json.RawMessage("{}")}})
	}
	return out
}

func recorded(t *testing.T) []byte {
	t.Helper()
	tp := tape.Record()
	ask := tp.Over(echo)
	for _, q := range questions() {
		if _, err := ask(q); err != nil {
			t.Fatal(err)
		}
	}
	data, err := tp.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// A tape answers what was recorded, and nothing that differs in anything.
func TestReplay(t *testing.T) {
	data := recorded(t)
	if !bytes.Equal(data, recorded(t)) {
		t.Error("two tapes of the same answers differ")
	}
	missed := 0
	tp, err := tape.Replay(data, func(*rules.Request) { missed++ })
	if err != nil {
		t.Fatal(err)
	}
	ask := tp.Over(nil)
	for _, q := range questions() {
		got, err := ask(q)
		if err != nil {
			t.Fatal(err)
		}
		want, err := echo(q)
		if err != nil || got.Code != want.Code || !bytes.Equal(got.Body, want.Body) || got.Writes[0].Key != want.Writes[0].Key || got.Writes[0].Version != want.Writes[0].Version {
			t.Errorf("%+v, want %+v", got, want)
		}
		got.Body[0] = 'x' // it belongs to the caller
	}
	if again, err := ask(questions()[3]); err != nil || again.Body[0] == 'x' {
		t.Errorf("%v, %s", err, again.Body)
	}
	for i, change := range []func(*rules.Request){
		func(r *rules.Request) { r.Version++ },
		func(r *rules.Request) { r.Now++ },
		func(r *rules.Request) { r.UID = "u" },
		func(r *rules.Request) { r.User = "eve" },
		func(r *rules.Request) { r.Objects["/c"] = nil },
		func(r *rules.Request) { r.Objects["/b"] = json.RawMessage("{ }") },
	} {
		q := questions()[5]
		change(q)
		if _, err := ask(q); !errors.Is(err, tape.ErrMissed) || missed != i+1 {
			t.Errorf("change %d: %v after %d", i, err, missed)
		}
	}
}

// A tape that is cut anywhere is no tape.
func TestTapeThatIsCut(t *testing.T) {
	data := recorded(t)
	for n := range data {
		if _, err := tape.Replay(data[:n], func(*rules.Request) {}); err == nil {
			t.Fatalf("%d of %d bytes are a tape", n, len(data))
		}
	}
	if _, err := tape.Replay([]byte("no tape at all, but a text"), nil); err == nil {
		t.Error("a text is a tape")
	}
}

// A tape that compares tells what is answered otherwise now, and what was never asked.
func TestCompare(t *testing.T) {
	var told []string
	tp, err := tape.Compare(recorded(t), func(r *rules.Request, _ string) { told = append(told, r.URL) })
	if err != nil {
		t.Fatal(err)
	}
	ask := tp.Over(func(r *rules.Request) (*rules.Answer, error) {
		a, err := echo(r)
		if r.URL == "/api/v1/things/7" {
			a.Code = 202
		}
		return a, err
	})
	for _, q := range append(questions(), &rules.Request{URL: "/new"}) {
		if _, err := ask(q); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(told, " "); got != "/api/v1/things/7 /new" {
		t.Errorf("told %s", got)
	}
}

// What a client chooses for an Event differs in each run: the tape has it, as JSON and protobuf, and what is asked about
// that Event later.
func TestEventsOfClients(t *testing.T) {
	event := func(name, host string, seconds int64, protobuf bool) *rules.Request {
		e := &eventsv1.Event{
			TypeMeta: metav1.TypeMeta{APIVersion: "events.k8s.io/v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name},
			EventTime: metav1.MicroTime{Time: metav1.Unix(seconds, 123456000).Time}, ReportingController: "c", ReportingInstance: host, Reason: "R", Note: "n",
		}
		body, err := json.Marshal(e)
		contentType := "application/json"
		if protobuf {
			raw, failed := e.Marshal()
			if failed != nil {
				t.Fatal(failed)
			}
			body, err = (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "events.k8s.io/v1", Kind: "Event"}, Raw: raw}).Marshal()
			body = append([]byte("k8s\x00"), body...)
			contentType = "application/vnd.kubernetes.protobuf"
		}
		if err != nil {
			t.Fatal(err)
		}
		return &rules.Request{Method: "POST", URL: "/apis/events.k8s.io/v1/namespaces/a/events", ContentType: contentType, Body: body, UID: "uid-of-" + name, Suffix: name[:3], Version: 7,
			Objects: map[string]json.RawMessage{"/core/events/a/" + name: nil}}
	}
	frame := func(name string, object json.RawMessage, version uint64) *rules.Request {
		return &rules.Request{Method: "GET", URL: "/apis/events.k8s.io/v1/namespaces/a/events/" + name, Version: version, Objects: map[string]json.RawMessage{"/core/events/a/" + name: object}}
	}
	store := func(req *rules.Request) (*rules.Answer, error) {
		if req.Method == "GET" {
			for _, text := range req.Objects {
				return &rules.Answer{Code: 200, Body: text}, nil
			}
		}
		return &rules.Answer{Code: 201, Body: req.Body, Writes: []rules.Write{{Key: "/core/events/a/x", Object: json.RawMessage(strings.Replace(string(req.Body), "{", `{"uid":"`+req.UID+`",`, 1))}}}, nil
	}
	for _, protobuf := range []bool{false, true} {
		tp := tape.Record()
		ask := tp.Over(store)
		made, err := ask(event("first.1", "host-1", 1, protobuf))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(frame("first.1", made.Writes[0].Object, 8)); err != nil {
			t.Fatal(err)
		}
		data, err := tp.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		if tp, err = tape.Replay(data, func(r *rules.Request) { t.Errorf("missed %s %s %s", r.Method, r.URL, r.Body) }); err != nil {
			t.Fatal(err)
		}
		for _, again := range []struct {
			name, host string
			seconds    int64
		}{{"second.22", "another-host", 2_000_000_000}, {"first.1", "host-1", 1}} {
			ask := tp.Over(nil) // another server
			got, err := ask(event(again.name, again.host, again.seconds, protobuf))
			if err != nil {
				t.Fatal(err)
			}
			object := string(got.Writes[0].Object)
			for _, want := range []string{again.name, again.host, "uid-of-" + again.name} {
				if !strings.Contains(object, want) {
					t.Errorf("%s is missing in %s", want, object)
				}
			}
			if strings.Contains(object, "-of-c") || strings.Contains(string(got.Body), "-of-c") {
				t.Errorf("the answer has a text of the tape: %s", object)
			}
			if f, err := ask(frame(again.name, got.Writes[0].Object, 99)); err != nil || string(f.Body) != object {
				t.Errorf("%v: the frame is %s, want %s", err, f.Body, object)
			}
		}
	}
}
