// Package draw draws objects from the structural schema of a custom resource: values of a field, removals, and changes of
// lists and maps.
//
//	schema, object ──▶ Changes: every single one ──▶ Source.Next: one that has not been drawn yet ──▶ object
//
// It does not know CEL, nor what a webhook refuses. The server says whether an object is valid.
package draw

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"unicode/utf8"
)

// Schema is a structural schema: what of it says which values a field can have.
type Schema struct {
	Type       string             `json:"type"`
	Format     string             `json:"format"`
	Properties map[string]*Schema `json:"properties"`
	Required   []string           `json:"required"`
	// Additional is the schema of the values of a map; nil: it is no map.
	Additional *Additional `json:"additionalProperties"`
	Items      *Schema     `json:"items"`
	Enum       []any       `json:"enum"`
	Default    any         `json:"default"`
	Nullable   bool        `json:"nullable"`
	Pattern    string      `json:"pattern"`
	MinLength  *int        `json:"minLength"`
	MaxLength  *int        `json:"maxLength"`
	MinItems   *int        `json:"minItems"`
	MaxItems   *int        `json:"maxItems"`
	MinMembers *int        `json:"minProperties"`
	MaxMembers *int        `json:"maxProperties"`
	Minimum    *float64    `json:"minimum"`
	Maximum    *float64    `json:"maximum"`
	NotMinimum bool        `json:"exclusiveMinimum"`
	NotMaximum bool        `json:"exclusiveMaximum"`
	Multiple   *float64    `json:"multipleOf"`
	IntOrText  bool        `json:"x-kubernetes-int-or-string"`
	Open       bool        `json:"x-kubernetes-preserve-unknown-fields"`
	Embedded   bool        `json:"x-kubernetes-embedded-resource"`

	pattern *regexp.Regexp
	known   map[int][]any // what valuesOf returns, by depth
}

// Additional is the schema of the values of a map. In the API it may also be true or false.
type Additional struct{ Schema *Schema }

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Additional) UnmarshalJSON(text []byte) error {
	var any bool
	if json.Unmarshal(text, &any) == nil {
		return nil
	}
	a.Schema = &Schema{}
	return json.Unmarshal(text, a.Schema)
}

// Parse reads an openAPIV3Schema.
func Parse(text []byte) (*Schema, error) {
	s := &Schema{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("the schema cannot be read: %w", err)
	}
	return s, nil
}

// values returns the schema of the values of a map; nil if it is no map.
func (s *Schema) values() *Schema {
	if s.Additional == nil {
		return nil
	}
	return s.Additional.Schema
}

// allows reports whether a scalar, or the number of members of another value, is within the bounds of the schema.
func (s *Schema) allows(v any) bool {
	if v == nil {
		return s.Nullable
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool { return same(e, v) }) {
		return false
	}
	switch v := v.(type) {
	case string:
		return within(utf8.RuneCountInString(v), s.MinLength, s.MaxLength) && s.matches(v)
	case float64:
		return s.inRange(v)
	case []any:
		return within(len(v), s.MinItems, s.MaxItems)
	case map[string]any:
		return within(len(v), s.MinMembers, s.MaxMembers)
	}
	return true
}

func (s *Schema) inRange(v float64) bool {
	switch {
	case s.Minimum != nil && (v < *s.Minimum || s.NotMinimum && v == *s.Minimum):
		return false
	case s.Maximum != nil && (v > *s.Maximum || s.NotMaximum && v == *s.Maximum):
		return false
	case s.Multiple != nil && *s.Multiple != 0 && v / *s.Multiple != float64(int64(v / *s.Multiple)):
		return false
	}
	return true
}

// matches reports whether a text matches the pattern. One that Go cannot read is left to the server.
func (s *Schema) matches(text string) bool {
	if s.Pattern == "" {
		return true
	}
	if s.pattern == nil {
		p, err := regexp.Compile(s.Pattern)
		if err != nil {
			return true
		}
		s.pattern = p
	}
	return s.pattern.MatchString(text)
}

func within(n int, low, high *int) bool {
	return (low == nil || n >= *low) && (high == nil || n <= *high)
}

// same reports whether two values are the same JSON.
func same(a, b any) bool { return reflect.DeepEqual(a, b) }
