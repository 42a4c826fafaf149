// Package admission measures the handling of an AdmissionReview by a webhook, beside the peers.
package admission

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

// call is one kind of call, with its expected answer.
type call struct {
	name    string
	body    []byte
	handler func(handlers) http.Handler
	allowed bool
	patched bool
}

func calls(t testing.TB) []call {
	small, large := deployment(3), deployment(1000)
	defaulted := deployment(3)
	defaultDeployment(defaulted)
	config, empty := configMap("a note"), configMap("")
	defaultD := func(h handlers) http.Handler { return h.defaultDeployment }
	validateD := func(h handlers) http.Handler { return h.validateDeployment }
	defaultC := func(h handlers) http.Handler { return h.defaultConfigMap }
	validateC := func(h handlers) http.Handler { return h.validateConfigMap }
	create, update := admissionv1.Create, admissionv1.Update
	return []call{
		{"5kB/default", review(t, create, deploymentKind, "deployments", small, nil), defaultD, true, true},
		{"5kB/default-nothing", review(t, create, deploymentKind, "deployments", defaulted, nil), defaultD, true, false},
		{"5kB/validate-create", review(t, create, deploymentKind, "deployments", small, nil), validateD, true, false},
		{"5kB/validate-update", review(t, update, deploymentKind, "deployments", small, defaulted), validateD, true, false},
		{"5kB/deny", review(t, create, deploymentKind, "deployments", large, nil), validateD, false, false},
		{"100kB/default", review(t, create, configMapKind, "configmaps", config, nil), defaultC, true, true},
		{"100kB/validate-update", review(t, update, configMapKind, "configmaps", config, config), validateC, true, false},
		{"100kB/deny", review(t, create, configMapKind, "configmaps", empty, nil), validateC, false, false},
	}
}

var contenders = map[string]func(testing.TB) handlers{"flyball": flyball, "controller-runtime": controllerRuntime}

// All contenders give the same verdicts.
func TestVerdicts(t *testing.T) {
	for name, make := range contenders {
		all := make(t)
		for _, c := range calls(t) {
			var answer admissionv1.AdmissionReview
			w := post(c.handler(all), c.body)
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
				t.Fatalf("%s %s: %d %v", name, c.name, w.Code, err)
			}
			if r := answer.Response; r.Allowed != c.allowed || (len(r.Patch) > 0) != c.patched || r.UID == "" {
				t.Errorf("%s %s: %s", name, c.name, w.Body)
			}
		}
	}
}

func post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// discard is a ResponseWriter that discards the answer.
type discard struct {
	header http.Header
	code   int
}

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(code int)        { d.code = code }

// BenchmarkAdmission measures the whole handler: from the body of the review to that of the answer.
// The server around it costs the same for all.
func BenchmarkAdmission(b *testing.B) {
	for _, c := range calls(b) {
		for _, name := range []string{"flyball", "controller-runtime"} {
			h := c.handler(contenders[name](b))
			b.Run(c.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				r := httptest.NewRequest(http.MethodPost, "/", nil)
				r.Header.Set("Content-Type", "application/json")
				r.ContentLength = int64(len(c.body))
				body, w := bytes.NewReader(c.body), &discard{header: http.Header{}}
				r.Body = nopCloser{body}
				for b.Loop() {
					body.Reset(c.body)
					w.code = 0
					h.ServeHTTP(w, r)
					if w.code != 0 && w.code != 200 {
						b.Fatal(w.code)
					}
				}
			})
		}
	}
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }
