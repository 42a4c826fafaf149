package memo

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// readsNames reports whether a definition of custom resources may have rules that read the names of its objects. It
// proves the contrary or says yes: at the root of each schema and in its metadata all is known to read no name, and
// expressions of the root begin at another field. Schemas below see a part of the object that has no name.
func readsNames(definition []byte) bool {
	var d struct {
		Spec struct {
			Validation json.RawMessage // of definitions before v1
			Versions   []struct {
				Schema struct{ OpenAPIV3Schema map[string]json.RawMessage }
			}
		}
	}
	if json.Unmarshal(definition, &d) != nil || len(d.Spec.Validation) > 0 || len(d.Spec.Versions) == 0 {
		return true
	}
	for _, v := range d.Spec.Versions {
		if rootReadsNames(v.Schema.OpenAPIV3Schema) {
			return true
		}
	}
	return false
}

// unread are the keywords of a schema that read no text of an object, nor anything below it.
var unread = []string{"type", "description", "title", "example", "externalDocs", "nullable", "required", "x-kubernetes-preserve-unknown-fields"}

func rootReadsNames(root map[string]json.RawMessage) bool {
	var properties map[string]json.RawMessage
	var rules []expressions
	for keyword, value := range root {
		switch {
		case keyword == "properties":
			if json.Unmarshal(value, &properties) != nil {
				return true
			}
		case keyword == "x-kubernetes-validations":
			if json.Unmarshal(value, &rules) != nil {
				return true
			}
		case !slices.Contains(unread, keyword):
			return true
		}
	}
	if metadata, ok := properties["metadata"]; ok && metadataReadsNames(metadata) {
		return true
	}
	return slices.ContainsFunc(rules, func(e expressions) bool { return e.readNames(properties) })
}

func metadataReadsNames(text []byte) bool {
	var metadata map[string]json.RawMessage
	if json.Unmarshal(text, &metadata) != nil {
		return true
	}
	for keyword, value := range metadata {
		if slices.Contains(unread, keyword) {
			continue
		}
		var fields map[string]map[string]json.RawMessage
		if keyword != "properties" || json.Unmarshal(value, &fields) != nil {
			return true
		}
		for _, field := range fields {
			for keyword := range field {
				if !slices.Contains(unread, keyword) {
					return true
				}
			}
		}
	}
	return false
}

// expressions are the expressions of a rule at the root of a schema.
type expressions struct {
	Rule, MessageExpression string
	OptionalOldSelf         bool
}

// variable matches a variable of a rule, and a use that begins at a field of the object.
var (
	variable  = regexp.MustCompile(`self|oldSelf`)
	beginning = regexp.MustCompile(`\b(?:self|oldSelf)\.([A-Za-z_][A-Za-z0-9_]*)`)
)

// readNames reports whether an expression may read the metadata of the object. There are no other variables than self
// and oldSelf. Each use of them, even in a text, has to begin at another field of the schema, and to call nothing.
func (e expressions) readNames(properties map[string]json.RawMessage) bool {
	if e.OptionalOldSelf {
		return true // a call on oldSelf returns the object
	}
	for _, text := range []string{e.Rule, e.MessageExpression} {
		uses := beginning.FindAllStringSubmatchIndex(text, -1)
		if len(uses) != len(variable.FindAllString(text, -1)) {
			return true
		}
		for _, use := range uses {
			field, then := text[use[2]:use[3]], strings.TrimSpace(text[use[1]:])
			_, known := properties[field]
			if field == "metadata" || !known && field != "kind" && field != "apiVersion" || strings.HasPrefix(then, "(") || strings.HasPrefix(then, "/") {
				return true
			}
		}
	}
	return false
}
