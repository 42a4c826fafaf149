package core

import (
	"net/http"
	"net/url"
	"strings"
)

// health answers the paths /healthz, /livez and /readyz. There is one check, "ping", which always succeeds.
func health(target string) (Answer, bool) {
	path, query, _ := strings.Cut(target, "?")
	whole, check, one := strings.Cut(strings.Trim(path, "/"), "/")
	switch whole {
	case "healthz", "livez", "readyz":
	default:
		return Answer{}, false
	}
	a := Answer{Code: http.StatusOK, ContentType: "text/plain; charset=utf-8", Body: []byte("ok")}
	switch values, err := url.ParseQuery(query); {
	case one:
		return a, check == "ping"
	case err == nil && values.Has("verbose"):
		a.Body = []byte("[+]ping ok\n" + whole + " check passed\n")
	}
	a.Header = map[string]string{"X-Content-Type-Options": "nosniff"}
	return a, true
}
