package main

import (
	"bytes"
	"net/http"
	"strings"
)

// response collects what a handler writes.
type response struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

// Flush and CloseNotify do nothing: handlers of watches need them.
func (r *response) Flush() {}

func (r *response) CloseNotify() <-chan bool { return nil }

// otherHeader returns the headers that are not fields of an [Answer]; nil if there are none.
func (r *response) otherHeader() map[string]string {
	var out map[string]string
	for name, values := range r.header {
		switch name {
		case "Content-Type", "Retry-After", "Transfer-Encoding", "Content-Length", "Audit-Id":
			continue
		}
		text := strings.Join(values, ", ")
		if name == "Vary" { // no answer is compressed
			text = strings.TrimPrefix(strings.TrimPrefix(text, "Accept-Encoding"), ", ")
		}
		if text == "" {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = text
	}
	return out
}

func (r *response) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(b)
}
