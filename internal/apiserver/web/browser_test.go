package web

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Pages of other servers, and names that resolve to this machine, get nothing from a server that asks for no
// credentials.
func TestNoBrowsers(t *testing.T) {
	h := NoBrowsers(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	hosts := map[string]bool{
		"127.0.0.1:8080": true, "localhost:8080": true, "[::1]:8080": true, "127.0.0.1": true, "localhost": true, "[::1]": true, "127.1.2.3:1": true, "": true,
		"evil.example:8080": false, "evil.example": false, "10.0.0.1:8080": false, "localhost.evil.example:8080": false, "127.0.0.1.evil.example": false,
		"0.0.0.0:8080": false, "169.254.169.254": false,
	}
	headers := []struct {
		name, value string
		reads       bool // a GET is answered
		writes      bool
	}{
		{"", "", true, true},
		{"Origin", "http://evil.example", false, false},
		{"Origin", "http://127.0.0.1:3000", false, false},
		{"Origin", "null", false, false},
		{"Sec-Fetch-Site", "cross-site", true, false}, // the page cannot read the answer
		{"Sec-Fetch-Site", "same-site", true, false},
		{"Sec-Fetch-Site", "none", true, true}, // typed by the user
	}
	for host, mine := range hosts {
		for _, header := range headers {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "ODD"} {
				r := httptest.NewRequest(method, "/api/v1/secrets", nil)
				r.Host = host
				if header.name != "" {
					r.Header.Set(header.name, header.value)
				}
				safe := method == "GET" || method == "HEAD" || method == "OPTIONS"
				want := http.StatusForbidden
				if mine && (safe && header.reads || !safe && header.writes) {
					want = http.StatusOK
				}
				w := httptest.NewRecorder()
				if h.ServeHTTP(w, r); w.Code != want {
					t.Errorf("%s, Host %q, %s %q: %d, want %d", method, host, header.name, header.value, w.Code, want)
				}
			}
		}
	}
	r := httptest.NewRequest("POST", "/api/v1/pods", nil)
	r.Host = "127.0.0.1:8080"
	r.Header.Set("Origin", "http://127.0.0.1:8080")
	if w := httptest.NewRecorder(); true {
		if h.ServeHTTP(w, r); w.Code != http.StatusOK {
			t.Errorf("the server's own origin: %d", w.Code)
		}
	}
}
