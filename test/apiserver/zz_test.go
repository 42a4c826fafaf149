package apiserver

import (
	"fmt"
	"testing"
	"time"
	"os"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"bytes"

	"github.com/flyball-io/flyball/internal/apiserver/core"
	"github.com/flyball-io/flyball/internal/apiserver/rules"
	"github.com/flyball-io/flyball/internal/apiserver/web"
)

func zstate(b *testing.B) (*core.State, core.Rules) {
	ask, err := rulesFor(context.Background(), os.Stderr)
	if err != nil { b.Fatal(err) }
	s := core.New(core.Options{Rules: ask, Nobody: core.Administrator})
	bb, err := core.NewBeginning(ask, false)
	if err != nil { b.Fatal(err) }
	s.Begin(time.Now(), bb)
	return s, ask
}

const zpod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","labels":{"app":"x"}},"spec":{"containers":[{"name":"c","image":"nginx:1.2","ports":[{"containerPort":80}],"resources":{"requests":{"cpu":"100m","memory":"100Mi"}}}]}}`
const zcm = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"%s"},"data":{"k":"1"}}`

func BenchmarkZStepCM(b *testing.B) { zstep(b, "/api/v1/namespaces/default/configmaps", zcm) }
func BenchmarkZStepPod(b *testing.B) { zstep(b, "/api/v1/namespaces/default/pods", zpod) }

func zstep(b *testing.B, path, body string) {
	s, _ := zstate(b)
	i := 0
	for b.Loop() {
		i++
		a := s.Step(time.Now(), core.Request{Method: "POST", URL: path, ContentType: "application/json", User: "admin", Groups: []string{"system:masters"}, Body: fmt.Appendf(nil, body, fmt.Sprint("a", i))})
		if a.Code != 201 { b.Fatal(string(a.Body)) }
	}
	b.Log(answers.Counts())
}

func BenchmarkZAskParallel(b *testing.B) {
	_, ask := zstate(b)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			a, err := ask(&rules.Request{Method: "POST", URL: "/api/v1/namespaces", ContentType: "application/json", User: "admin", UID: "x", Now: 1e18, Version: 5, Body: []byte(`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}}`)})
			if err != nil || a.Code != 201 { b.Fatal(err, a) }
		}
	})
}

func BenchmarkZAskVersion(b *testing.B) {
	_, ask := zstate(b)
	for b.Loop() {
		a, err := ask(&rules.Request{Method: "GET", URL: "/version", User: "admin"})
		if err != nil || a.Code != 200 { b.Fatal(err, a) }
	}
}

func BenchmarkZServeGet(b *testing.B) {
	s, _ := zstate(b)
	h := web.New(s, web.Options{})
	for b.Loop() {
		r := httptest.NewRequest("GET", "/api/v1/namespaces/default", nil)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != 200 { b.Fatal(w.Body) }
	}
	_ = bytes.NewReader
	_ = strings.NewReader
	_ = http.StatusOK
}

func BenchmarkZHTTPGet(b *testing.B) {
	for _, mem := range []bool{false, true} {
		b.Run(fmt.Sprint("mem=", mem), func(b *testing.B) {
		s := Start(b, Options{InMemory: mem})
		c := &http.Client{Transport: &http.Transport{DialContext: s.dial}}
		for b.Loop() {
			resp, err := c.Get(s.URL()+"/api/v1/namespaces/default")
			if err != nil { b.Fatal(err) }
			var buf bytes.Buffer
			buf.ReadFrom(resp.Body)
			resp.Body.Close()
		}
		c.CloseIdleConnections()
		})
	}
}
