package child

import "encoding/json"

// unkept is a value that a server keeps as if it had not been set: a zero of a field that its Go type
// leaves out then. Where the live object lacks the field, it is as wanted.
type unkept struct{ value any }

// markUnkept returns v with those of its values marked that written, the same as the Go type writes it,
// has not. It shares what it does not change with v.
func markUnkept(v, written any) any {
	switch v := v.(type) {
	case map[string]any:
		written, ok := written.(map[string]any)
		if !ok {
			return v
		}
		out := make(map[string]any, len(v))
		for k, x := range v {
			w, kept := written[k]
			if !kept && isZero(x) {
				out[k] = unkept{x}
				continue
			}
			out[k] = markUnkept(x, w)
		}
		return out
	case []any:
		written, ok := written.([]any)
		if !ok || len(written) != len(v) {
			return v
		}
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = markUnkept(x, written[i])
		}
		return out
	}
	return v
}

// isZero reports whether a JSON value is what stands for nothing in a Go type.
func isZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		f, err := v.Float64()
		return err == nil && f == 0
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, x := range v {
			if !isZero(x) {
				return false
			}
		}
		return true
	}
	return false
}
