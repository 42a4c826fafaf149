package client

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

func TestDialChecksTheServer(t *testing.T) {
	alone(t)
	_, err := Dial(t.Context(), ConfigOptions{}, Options{})
	if _, ok := asType[*ConfigError](err); !ok {
		t.Errorf("no configuration: %v", err)
	}
	healthy := false
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if healthy {
			answer(http.StatusOK, map[string]string{"major": "1", "gitVersion": "v1.36.3"})(w, r)
			return
		}
		text(http.StatusOK, "text/html", "<p>It works!</p>")(w, r)
	}))
	defer srv.Close()
	path := file(t, filepath.Join(t.TempDir(), "config"), strings.ReplaceAll(kubeconfig, "https://one.test:6443", srv.URL))
	_, err = Dial(t.Context(), ConfigOptions{Kubeconfig: path}, Options{})
	if _, ok := asType[*ConfigError](err); !ok {
		t.Errorf("no API server: %v", err)
	}
	healthy = true
	c, err := Dial(t.Context(), ConfigOptions{Kubeconfig: path}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
