package faults_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/flyball-io/flyball/client"
	"github.com/flyball-io/flyball/internal/faults"
	"github.com/flyball-io/flyball/object"
)

func gatewayTo(t *testing.T, p server) *faults.Gateway {
	t.Helper()
	make := faults.NewGateway
	if inBubble() {
		make = faults.NewPipeGateway
	}
	g, err := make(p.RESTConfig())
	must(t, err)
	t.Cleanup(g.Close)
	return g
}

// isWatch, isList and isStream recognize requests for ConfigMaps.
func isWatch(r *http.Request) bool {
	return r.URL.Query().Get("watch") != "" && strings.HasSuffix(r.URL.Path, "/configmaps")
}

func isStream(r *http.Request) bool {
	return isWatch(r) && r.URL.Query().Get("sendInitialEvents") != ""
}

func isList(r *http.Request) bool {
	return r.Method == http.MethodGet && r.URL.Query().Get("watch") == "" && strings.HasSuffix(r.URL.Path, "/configmaps")
}

// inPages makes a list be read from etcd, which pages, and not from the watch cache, which does
// not.
func inPages(r *http.Request) {
	if q := r.URL.Query(); isList(r) && q.Get("resourceVersion") == "0" {
		q.Del("resourceVersion")
		q.Del("resourceVersionMatch")
		r.URL.RawQuery = q.Encode()
	}
}

// expired answers 410.
func expired(w http.ResponseWriter) bool {
	faults.Answer(w, http.StatusGone, metav1.StatusReasonExpired, "too old resource version: 1 (7)", 0)
	return true
}

// times injects f into the next n requests for which is reports true.
func times(n int32, is func(*http.Request) bool, f func(http.ResponseWriter) bool) faults.Fault {
	var left atomic.Int32
	left.Store(n)
	return func(w http.ResponseWriter, r *http.Request) bool {
		return is(r) && left.Add(-1) >= 0 && f(w)
	}
}

// either combines faults; the first one that answers wins.
func either(all ...faults.Fault) faults.Fault {
	return func(w http.ResponseWriter, r *http.Request) bool {
		for _, f := range all {
			if f(w, r) {
				return true
			}
		}
		return false
	}
}

// forget makes the server answer the next watch with 410, and ends the open ones.
func forget(g *faults.Gateway, also ...faults.Fault) {
	g.Renew(either(append([]faults.Fault{times(1, func(r *http.Request) bool { return isWatch(r) && !isStream(r) }, expired)}, also...)...))
}

// reads checks that the cache answers with its last state: a list, and each object of it.
func (r *rig) reads() error {
	n := 0
	for o, err := range client.List[corev1.ConfigMap](r.Context(), r.mgr.Client(), client.InNamespace(r.ns)) {
		if err != nil {
			return err
		}
		if _, err := client.Get[corev1.ConfigMap](r.Context(), r.mgr.Client(), object.KeyOf(o)); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		return errors.New("the list is empty")
	}
	return nil
}

// answer is a recorded answer of a server, to be replayed.
type answer struct {
	header http.Header
	body   []byte
}

func (a *answer) write(w http.ResponseWriter) bool {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	w.Header().Del("Content-Length")
	io.Copy(w, bytes.NewReader(a.body))
	return true
}

// ask sends a request to the server and records the answer.
func ask(t *testing.T, g *faults.Gateway, path, accept string) *answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, g.Config().Host+path, nil)
	must(t, err)
	req.Header.Set("Accept", accept)
	c := &http.Client{Transport: &http.Transport{DialContext: g.Config().Dial}}
	defer c.CloseIdleConnections()
	resp, err := c.Do(req)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", path, resp.Status, body)
	}
	return &answer{resp.Header, body}
}
