package child

import "encoding/json"

// unkept is a zero value that a server drops, because its Go type omits the field when it is zero. It is
// as desired if the child lacks the field.
type unkept struct{ value any }

// markUnkept returns v with its zero values wrapped in unkept that written lacks. written is v as the Go
// type writes it. The result shares unchanged parts with v.
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

// isZero reports whether a JSON value is the zero value of its Go type.
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
