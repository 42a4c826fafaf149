package core

import (
	"net/http"
	"strings"
)

// openAPIv2 answers with a document without definitions. Programs that read it leave validation to the server then.
// /openapi/v3 has the definitions.
func openAPIv2(accept string) Answer {
	if strings.Contains(accept, "protobuf") {
		return Answer{Code: http.StatusOK, ContentType: "application/octet-stream", Body: []byte("\x0a\x032.0")} // field 1: swagger
	}
	return Answer{Code: http.StatusOK, ContentType: "application/json", Body: []byte(`{"swagger":"2.0","info":{"title":"Kubernetes","version":"unversioned"},"paths":{},"definitions":{}}` + "\n")}
}
