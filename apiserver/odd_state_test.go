package apiserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/flyball-io/flyball/apiserver"
)

const openDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"odds.example.com"},"spec":{"group":"example.com","scope":"Cluster","names":{"plural":"odds","kind":"Odd"},
	"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// oddObjects are paths of collections, and objects there.
var oddObjects = [][3]string{
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "system:odd:one", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"system:odd:one"},"rules":[]}`},
	{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "a.b:c-é", `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"a.b:c-é"}}`},
	{"/api/v1/namespaces/default/configmaps", "large", oddMap(`"name":"large"`, `"data":{"x":"`+strings.Repeat("0123456789abcde\\n", 60000)+`"}`)},
	{"/api/v1/namespaces/default/configmaps", "texts", oddMap(`"name":"texts","annotations":{"a":"","b":" ","c":"- x","d":"null","e":"~","f":"0x1F","g":"1e3","h":"2026-01-01","i":": ","j":"# no","k":"'\"","l":"\t\n\r","m":"  two\nlines  ","n":"\u2028\u0085\ufeff"}`,
		`"data":{"a.b-c_d":"%s\\n","yes":"no","on":"off","y":"=","trail":"x\n\n\n","blank":"\n","tab":"\tx","crlf":"a\r\nb","nul":"\u0000","del":"\u007f","pair":"😀"},"binaryData":{"z":"//79/A=="}`)},
	{"/apis/example.com/v1/odds", "numbers", `{"apiVersion":"example.com/v1","kind":"Odd","metadata":{"name":"numbers"},"spec":{"big":9223372036854775807,"small":-9223372036854775808,"float":0.1,"tiny":5e-324,"exp":1e+21,"whole":1.0,"beyond":12345678901234567890,"zero":-0}}`},
	{"/apis/example.com/v1/odds", "shapes", `{"apiVersion":"example.com/v1","kind":"Odd","metadata":{"name":"shapes"},"a":null,"b":{},"c":[],"d":[null,[],{},[[1]]],"e":{"":"","a b":1,"1":2,"true":3,"- x":4,"null":null,"é":5,"? x":6,": y":7},"f":false,"list":[{"k":"v"},{"k":null}]}`},
	{"/apis/example.com/v1/odds", "deep", `{"apiVersion":"example.com/v1","kind":"Odd","metadata":{"name":"deep"},"x":` + strings.Repeat(`{"x":[`, 200) + "1" + strings.Repeat("]}", 200) + `}`},
	{"/apis/example.com/v1/odds", "a.b.c-" + strings.Repeat("n", 240), `{"apiVersion":"example.com/v1","kind":"Odd","metadata":{"name":"a.b.c-` + strings.Repeat("n", 240) + `","finalizers":["example.com/x"],"ownerReferences":[{"apiVersion":"v1","kind":"None","name":"x","uid":"y"}]}}`},
}

// oddServer has all odd objects, and returns what it answers about each.
func oddServer(t *testing.T) (*apiserver.Server, map[string]string) {
	t.Helper()
	s := apiserver.Start(t, apiserver.Options{})
	send(t, s, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", openDefinition, http.StatusCreated)
	for _, o := range oddObjects {
		send(t, s, "POST", o[0], o[2], http.StatusCreated)
	}
	return s, oddAnswers(t, s)
}

func oddAnswers(t *testing.T, s *apiserver.Server) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, o := range oddObjects {
		out[o[1]] = send(t, s, "GET", o[0]+"/"+o[1], "", http.StatusOK)
	}
	return out
}

// send makes a request, and returns the body of the answer.
func send(t *testing.T, s *apiserver.Server, method, path, body string, code int) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", jsonType)
	resp, err := httpClient(t, s.RESTConfig()).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != code {
		t.Fatalf("%s %s: %d, want %d: %.500s", method, path, resp.StatusCode, code, text)
	}
	return string(text)
}

// Odd names, texts, numbers and shapes are byte for byte the same after an export, an import, and another export.
func TestOddObjectsAreExported(t *testing.T) {
	s, want := oddServer(t)
	var file, again bytes.Buffer
	if err := s.Export(&file); err != nil {
		t.Fatal(err)
	}
	other := apiserver.Start(t, apiserver.Options{})
	if err := other.Import(bytes.NewReader(file.Bytes())); err != nil {
		t.Fatal(err)
	}
	for name, answer := range oddAnswers(t, other) {
		if answer != want[name] {
			t.Errorf("%.60s: got\n%.2000s\nwant\n%.2000s", name, answer, want[name])
		}
	}
	if err := other.Export(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Error("the second export is another text than the first")
	}
}

// A file that is cut anywhere is an error, and leaves the server as it was.
func TestAStateFileThatIsCut(t *testing.T) {
	s := apiserver.Start(t, apiserver.Options{})
	for i := range 5 {
		send(t, s, "POST", "/api/v1/namespaces/default/configmaps", oddMap(fmt.Sprintf(`"name":"c%d"`, i), `"data":{"k":"v"}`), http.StatusCreated)
	}
	var file bytes.Buffer
	if err := s.Export(&file); err != nil {
		t.Fatal(err)
	}
	other := apiserver.Start(t, apiserver.Options{})
	before := send(t, other, "GET", "/api/v1/configmaps", "", http.StatusOK)
	for n := 0; n < file.Len()-1; n += 7 {
		// Each import reads all before the cut. So they are near each other in the last objects only.
		if far := file.Len()-n > 500; far && n%(7*50) != 0 && os.Getenv("FLYBALL_LONG") == "" {
			continue
		}
		if err := other.Import(bytes.NewReader(file.Bytes()[:n])); err == nil {
			t.Errorf("cut after %d of %d bytes: no error; the end was %q", n, file.Len(), file.Bytes()[max(0, n-60):n])
		}
		if after := send(t, other, "GET", "/api/v1/configmaps", "", http.StatusOK); after != before {
			t.Fatalf("cut after %d bytes: got %.300s, want %.300s", n, after, before)
		}
	}
}
