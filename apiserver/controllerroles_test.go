package apiserver_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
)

// With RBAC the controllers do all that they do without: what they ask for is what the roles of the real ones allow.
func TestControllersHaveTheirRoles(t *testing.T) {
	server := apiserver.Start(t, apiserver.Options{Controllers: []string{"*"}, RBAC: true})
	for _, c := range slices.Concat(controlledCases, applicationCases, claimCases) {
		t.Run(c.name, func(t *testing.T) {
			s := &session{t: t, client: httpClient(t, server.RESTConfig()), url: server.URL(), ns: "run-" + strings.ReplaceAll(c.name, " ", "-"), names: map[string]string{}}
			s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
			s.await("~/serviceaccounts", `"default"`)
			c.run(s)
		})
	}
}
