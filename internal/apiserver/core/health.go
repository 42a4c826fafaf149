package core

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// health answers the paths /healthz, /livez and /readyz. There is one check, "ping", which always succeeds.
func health(target string) (Answer, bool) {
	path, query, _ := strings.Cut(target, "?")
	whole, check, one := strings.Cut(strings.TrimPrefix(path, "/"), "/")
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
		a.Body = []byte(checked(values["exclude"]) + whole + " check passed\n")
	}
	a.Header = map[string]string{"X-Content-Type-Options": "nosniff"}
	return a, true
}

// checked lists the checks, but for those that the client leaves out.
func checked(excluded []string) string {
	text := "[+]ping ok\n"
	var unknown []string
	for _, name := range excluded {
		if name == "ping" {
			text = "[+]ping excluded: ok\n"
		} else {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		text += "warn: some health checks cannot be excluded: no matches for " + strings.Join(slices.Compact(unknown), ",") + "\n"
	}
	return text
}
