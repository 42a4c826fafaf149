package apiserver_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flyball-io/flyball/apiserver"
)

// With RBAC the controllers do all that they do without: what they ask for is what the roles of the real ones allow. In
// a bubble they wait for nothing.
func TestControllersHaveTheirRoles(t *testing.T) {
	t.Parallel()
	apiserver.Start(t, apiserver.Options{}) // the rules are there
	for _, c := range slices.Concat(controlledCases, applicationCases, claimCases) {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := apiserver.Start(t, apiserver.Options{InMemory: true, Controllers: []string{"*"}, RBAC: true})
				s := &session{t: t, client: httpClient(t, server.RESTConfig()), url: server.URL(), ns: "run-" + strings.ReplaceAll(c.name, " ", "-"), again: time.Second, names: map[string]string{}}
				s.send("POST", "/api/v1/namespaces", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"`+s.ns+`"}}`)
				s.await("~/serviceaccounts", `"default"`)
				c.run(s)
			})
		})
	}
}
