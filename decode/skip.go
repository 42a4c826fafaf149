package decode

// skip skips a value and checks its syntax. depth is the number of enclosing values.
func skip(src []byte, i, depth int) int {
	switch at(src, i) {
	case '{', '[':
		return skipAll(src, i, depth)
	case '"':
		end, plain := stringEnd(src, i+1)
		if end < 0 {
			return -1
		}
		if !plain {
			for rest := src[i+1 : end]; len(rest) > 0; rest = rest[1:] {
				if rest[0] != '\\' {
					continue
				}
				rest = rest[1:]
				if rest[0] == 'u' {
					if _, ok := hex4(rest[1:]); !ok {
						return -1
					}
				} else if !isEscape(rest[0]) {
					return -1
				}
			}
		}
		return end + 1
	case 't':
		return literal(src, i, "true")
	case 'f':
		return literal(src, i, "false")
	case 'n':
		return literal(src, i, "null")
	}
	i, _ = number(src, i)
	return i
}

func isEscape(c byte) bool {
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return true
	}
	return false
}

// skipAll skips an array or object.
func skipAll(src []byte, i, depth int) int {
	if depth >= maxDepth {
		return -1
	}
	named, end := src[i] == '{', src[i]+2 // ']' and '}' are two after '[' and '{'
	if i = skipSpace(src, i+1); at(src, i) == end {
		return i + 1
	}
	for {
		if named {
			if at(src, i) != '"' {
				return -1
			}
			if i = skip(src, i, depth); i < 0 {
				return -1
			}
			if i = skipSpace(src, i); at(src, i) != ':' {
				return -1
			}
			i = skipSpace(src, i+1)
		}
		if i = skip(src, i, depth+1); i < 0 {
			return -1
		}
		i = skipSpace(src, i)
		switch at(src, i) {
		case ',':
			i = skipSpace(src, i+1)
		case end:
			return i + 1
		default:
			return -1
		}
	}
}
