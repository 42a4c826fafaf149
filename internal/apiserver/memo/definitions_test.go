package memo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// defined returns a definition with a version for each schema, as JSON without the outer braces.
func defined(schemas ...string) string {
	var versions []string
	for i, s := range schemas {
		versions = append(versions, fmt.Sprintf(`{"name":"v%d","schema":{"openAPIV3Schema":{%s}}}`, i+1, s))
	}
	return `{"metadata":{"name":"orders.example.com"},"spec":{"versions":[` + strings.Join(versions, ",") + `]}}`
}

// ruledBy returns a schema with a rule of the root.
func ruledBy(rule string, more ...string) string {
	text, err := json.Marshal(rule)
	if err != nil {
		panic(err) // a string
	}
	return `"type":"object","properties":{"spec":{"type":"object"},"value":{"type":"object"},"metadata":{"type":"object"}},"x-kubernetes-validations":[` + strings.Join(append([]string{`{"rule":` + string(text)}, more...), ",") + `}]`
}

func TestDefinitionsThatReadNoName(t *testing.T) {
	for _, text := range []string{
		defined(`"type":"object"`),
		defined(`"type":"object","description":"of self.metadata.name","x-kubernetes-preserve-unknown-fields":true`),
		defined(`"type":"object","required":["metadata"],"properties":{"metadata":{"type":"object"},"apiVersion":{"type":"string"}}`),
		defined(`"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"type":"string","description":"of an order"}}}}`),
		defined(`"type":"object","properties":{"spec":{"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{"pattern":"^a"}}}}}}`),
		defined(`"type":"object","properties":{"spec":{"x-kubernetes-embedded-resource":true,"x-kubernetes-validations":[{"rule":"self.metadata.name == 'a'"}]}}`),
		defined(ruledBy("self.spec.size > 2"), ruledBy("!has(self.spec)||self.kind in ['a'] && self.spec.all(k, k != 'metadata')")),
		defined(ruledBy("self.spec == oldSelf.spec", `"messageExpression":"'was ' + self.spec.metadata.name"`)),
	} {
		if readsNames([]byte(text)) {
			t.Errorf("%s is said to read names", text)
		}
	}
}

func TestDefinitionsThatMayReadNames(t *testing.T) {
	name := func(schema string) string {
		return defined(`"type":"object"`, `"type":"object","properties":{"metadata":{"type":"object","properties":{"name":{`+schema+`}}}}`)
	}
	texts := []string{
		``, `{}`, `[]`, `{"spec":{}}`, `{"spec":{"versions":[]}}`, `{"spec":{"validation":{"openAPIV3Schema":{}},"versions":[{"name":"v1"}]}}`,
		name(`"pattern":"^a"`), name(`"enum":["a"]`), name(`"not":{"pattern":"^a"}`), name(`"anyOf":[{"pattern":"^a"}]`), name(`"maxLength":3`), name(`"format":"date"`), name(`"default":"a"`), name(`"x-kubernetes-validations":[]`), name(`"unheard":1`),
		defined(`"type":"object","properties":{"metadata":{"type":"object","properties":{"generateName":{"type":"string","pattern":"^a"}}}}`),
		defined(`"type":"object","properties":{"metadata":{"type":"object","x-kubernetes-validations":[{"rule":"self.name != 'a'"}]}}`),
		defined(`"type":"object","properties":{"metadata":{"type":"object","maxProperties":3}}`),
		defined(`"type":"object","not":{"properties":{"metadata":{"properties":{"name":{"pattern":"^a"}}}}}`),
		defined(`"type":"object","enum":[{}]`), defined(`"type":"object","default":{}`),
		defined(`"type":"object","propert\u0069es":{"metad\u0061ta":{"properties":{"name":{"pattern":"^a"}}}}`),
		defined(ruledBy("true", `"optionalOldSelf":true`)), defined(ruledBy("true", `"messageExpression":"self.metadata.name"`)),
	}
	for _, rule := range []string{
		"self.metadata.name != 'a'", "self . metadata.name != 'a'", "self. metadata.name != 'a'", "self.?metadata.?name.orValue('') != 'a'", "self.`metadata`.name != 'a'", "self //\n.metadata.name != 'a'",
		"has(self.metadata) && self.spec", "[self].all(x, x.metadata.name != 'a')", "self == oldSelf", "dyn(self)['meta' + 'data'].name != 'a'", "oldSelf.metadata.name != 'a'", "self['metadata'].name != 'a'",
		"oldSelf.value().metadata.name != 'a'", "oldSelf.value ().metadata.name != 'a'", "oldSelf.value//\n().metadata.name != 'a'", "self.unheard == 1", "'self' == 'a'", "'\\'' + self + self.spec", "r'\\' + string(self) + self.spec", "self.spec in self", "self",
	} {
		texts = append(texts, defined(`"type":"object"`, ruledBy(rule)))
	}
	for _, text := range texts {
		if !readsNames([]byte(text)) {
			t.Errorf("%s is said to read no names", text)
		}
	}
}

// What rules read of a create is no value.
func TestWhatRulesReadIsNoValue(t *testing.T) {
	const orders = definitionKeys + "orders.example.com"
	of := func(definition, body, accept string) values {
		req := question("abc", 100, noon)
		req.URL, req.Body, req.Accept = "/apis/example.com/v1/orders", []byte(body), accept
		req.Objects[orders] = json.RawMessage(definition)
		f, ok := New(0).form(req)
		if !ok {
			t.Fatal("no form")
		}
		return f.values
	}
	const named, generated = `{"metadata":{"name":"abc"}}`, `{"metadata":{"generateName":"abc"}}`
	free, ruled := defined(`"type":"object"`), defined(`"type":"object","properties":{"metadata":{"properties":{"name":{"pattern":"a"}}}}`)
	if v := of(free, named, ""); v[valueName] != "abc" || v[valueUID] == "" {
		t.Errorf("no rule reads the name: %q", v)
	}
	if v := of(ruled, named, ""); v[valueName] != "" || v[valueUID] == "" || v[valueSuffix] == "" {
		t.Errorf("a rule reads the name: %q", v)
	}
	if v := of(free, generated, ""); v[valueSuffix] == "" || v[valueName] != "" {
		t.Errorf("no rule reads the generated name: %q", v)
	}
	for _, body := range []string{generated, `{"metadata":{"generateName":"abc","name":""}}`, `{}`} {
		if v := of(ruled, body, ""); v[valueSuffix] != "" || v[valueUID] == "" {
			t.Errorf("a rule reads the generated name of %s: %q", body, v)
		}
	}
	if v := of(free, `{"metadata":{"generateName":"abc","labels":{"l":"x-b4k2z"}}}`, ""); v[valueSuffix] != "" {
		t.Errorf("the generated name may be compared: %q", v)
	}
	for what, v := range map[string]values{
		"managed fields are in the order of their times": of(free, `{"metadata":{"name":"abc","managedFields":[{"time":"2030-01-01T00:00:00Z"}]}}`, ""),
		"a table tells ages":                             of(free, named, "application/json;as= Table;g=meta.k8s.io;v=v1"),
		"the body may be anything":                       of(free, `{"metadata":{"name":"abc"`, ""),
	} {
		if v != (values{}) {
			t.Errorf("%s: %q", what, v)
		}
	}
}

// No file has answers about Secrets or tokens, nor hashes of questions that have them.
func TestSecretsAreInNoFile(t *testing.T) {
	for _, again := range []Again{Creates, All, First} {
		name := filepath.Join(t.TempDir(), "answers")
		f, err := Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m := New(1 << 20)
		m.Use(f)
		over := m.Over(honest, again)
		for _, url := range []string{"/api/v1/namespaces/ns/secrets", "/api/v1/namespaces/ns/secrets/abc", "/api/v1/namespaces/ns/serviceaccounts/a/token", "/apis/authentication.k8s.io/v1/tokenreviews", "/api/v1/secrets?limit=1"} {
			for _, method := range []string{"POST", "GET", "PUT", "PATCH"} {
				for range 3 {
					req := question("abc", 100, noon)
					req.URL, req.Method = url, method
					if _, err := over(req); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for range 3 {
			req := question("abc", 100, noon)
			req.Objects[secretKeys+"ns/abc"] = json.RawMessage(`{}`)
			if _, err := over(req); err != nil {
				t.Fatal(err)
			}
		}
		if hits, _ := m.Counts(); hits == 0 && again != First {
			t.Error("nothing is remembered")
		}
		f.Close()
		if info, err := os.Stat(name); err != nil || info.Size() != 0 {
			t.Errorf("%d: the file has %d bytes: %v", again, info.Size(), err)
		}
	}
}
