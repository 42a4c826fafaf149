package apiserver_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
)

// A read that the server answers by itself is answered as the rules answer it. With "pretty" in the query they
// are always asked.
func TestReadsAreThoseOfTheRules(t *testing.T) {
	t.Parallel() // it mostly waits for the rules
	memory := apiserver.Start(t, apiserver.Options{})
	client := &http.Client{}
	defer client.CloseIdleConnections()
	definer := &session{t: t, client: client, url: memory.URL(), ns: "random", names: map[string]string{}}
	define(definer, "widgets", "Widget", widgetVersion)
	reads := 0
	for n := range 60 {
		q := newSequence(uint64(n))
		w := &world{session: &session{t: t, client: client, url: memory.URL(), ns: fmt.Sprintf("straight-%d", n), names: map[string]string{}}, seen: map[string][]answer{}, since: map[string]string{}}
		w.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+w.ns+`"}}`)
		same := func(path string) {
			path = w.path(path)
			code, warnings, text := w.send("GET", path, "")
			separator := "?"
			if strings.Contains(path, "?") {
				separator = "&"
			}
			code2, warnings2, text2 := w.send("GET", path+separator+"pretty=false", "")
			reads++
			if code != code2 || fmt.Sprint(warnings) != fmt.Sprint(warnings2) || w.normal(text) != w.normal(text2) {
				t.Fatalf("sequence %d, %s: %d %q\n%s\nbut the rules say %d %q\n%s\nafter\n%s", n, path, code, warnings, text, code2, warnings2, text2, q)
			}
		}
		for _, c := range q.calls {
			c.run(w)
		}
		for _, k := range q.kinds {
			for _, options := range []string{"", "?limit=1", "?labelSelector=l", "?fieldSelector=metadata.name%3Da"} {
				same(k.path + options)
			}
			for path := range w.seen {
				same(path)
			}
		}
	}
	if reads < 200 {
		t.Errorf("only %d reads were compared", reads)
	}
}
