package generate

import (
	"cmp"
	"errors"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
	"sigs.k8s.io/controller-tools/pkg/loader"
	"sigs.k8s.io/controller-tools/pkg/markers"
)

// Position is a place in a file. The zero Position means no particular place.
type Position struct {
	File         string // relative to the project if it is inside
	Line, Column int    // from 1; 0 when not known
}

func (p Position) String() string {
	s := p.File
	if s == "" {
		return ""
	}
	if p.Line > 0 {
		s += ":" + strconv.Itoa(p.Line)
		if p.Column > 0 {
			s += ":" + strconv.Itoa(p.Column)
		}
	}
	return s
}

// Problem is one mistake in a project.
type Problem struct {
	Position
	Marker  string // the wrong marker, with its plus sign; "" if the problem is not a marker
	Message string
}

// String returns "file:line:column: +marker: why", without unknown parts.
func (p Problem) String() string {
	parts := make([]string, 0, 3)
	for _, s := range []string{p.Position.String(), p.Marker, p.Message} {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, ": ")
}

// Problems are all mistakes in a project, sorted by file and line. Nothing was generated.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, x := range p {
		lines[i] = x.String()
	}
	return strings.Join(lines, "\n")
}

// err returns nil if there is none, and otherwise the problems, sorted and without duplicates.
func (p Problems) err() error {
	if len(p) == 0 {
		return nil
	}
	return p.sorted()
}

// sorted sorts the problems in place, and returns them without duplicates.
func (p Problems) sorted() Problems {
	slices.SortStableFunc(p, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column,
			strings.Compare(a.Marker, b.Marker), strings.Compare(a.Message, b.Message))
	})
	return slices.Compact(p)
}

// position returns the place of pos.
func (p *project) position(pos token.Pos) Position {
	at := p.fset.Position(pos)
	return Position{File: p.rel(at.Filename), Line: at.Line, Column: at.Column}
}

// rel shortens the path of a file inside the project.
func (p *project) rel(file string) string { return relative(p.Dir, file) }

func relative(dir, file string) string {
	if r, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(r) {
		return filepath.ToSlash(r)
	}
	return file
}

// parsePosition parses "file:line:col". All parts except the file are optional.
func (p *project) parsePosition(s string) Position {
	if s == "" || s == "-" || strings.HasSuffix(s, ":-") {
		return Position{}
	}
	var numbers []int
	for len(numbers) < 2 {
		i := strings.LastIndexByte(s, ':')
		n, err := strconv.Atoi(s[i+1:])
		if i < 0 || err != nil {
			break
		}
		s, numbers = s[:i], append(numbers, n)
	}
	at := Position{File: p.rel(s)}
	switch len(numbers) {
	case 1:
		at.Line = numbers[0]
	case 2:
		at.Line, at.Column = numbers[1], numbers[0]
	}
	return at
}

// packageErrors returns the errors of the packages and of all their imports, except errors of the
// kinds in skip.
func (p *project) packageErrors(pkgs []*packages.Package, skip ...packages.ErrorKind) Problems {
	var out Problems
	packages.Visit(pkgs, nil, func(pkg *packages.Package) {
		// The go command's errors repeat those of code that was parsed and checked here.
		checked := slices.ContainsFunc(pkg.Errors, func(e packages.Error) bool {
			return e.Kind == packages.TypeError || e.Kind == packages.ParseError
		})
		for _, e := range pkg.Errors {
			if slices.Contains(skip, e.Kind) || checked && e.Kind == packages.ListError {
				continue
			}
			if at := p.parsePosition(e.Pos); at.File != "" {
				out = append(out, problemf(at, "", "%s", strings.TrimSpace(e.Msg)))
			} else {
				out = append(out, p.output(pkg.PkgPath, e.Msg)...)
			}
		}
	})
	return out
}

// output parses the go command's output about a package. Lines may have positions.
func (p *project) output(pkg, text string) (out Problems) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		file, message, _ := strings.Cut(line, ": ")
		if at := p.parsePosition(file); at.Line > 0 {
			out = append(out, problemf(at, "", "%s", message))
		} else {
			out = append(out, problemf(Position{}, "", "%s: %s", pkg, line))
		}
	}
	return out
}

// reason returns the error about the arguments of a marker, without the positions inside it that
// its parser adds.
func reason(err error) string {
	list := reasons(err)
	slices.Sort(list) // missing arguments come in random order
	if len(list) > 1 {
		// The parser stops at the first unknown argument.
		list = slices.DeleteFunc(list, func(s string) bool { return strings.HasPrefix(s, "extra arguments provided") })
	}
	return strings.Join(list, "; ")
}

func reasons(err error) []string {
	var list loader.ErrList
	var scan *markers.ScannerError
	var number *strconv.NumError
	switch {
	case errors.As(err, &list):
		var out []string
		for _, e := range list {
			out = append(out, reasons(e)...)
		}
		return out
	case errors.As(err, &scan):
		return []string{scan.Msg}
	case errors.As(err, &number):
		return []string{fmt.Sprintf("%q is not a number", number.Num)}
	}
	return []string{err.Error()}
}

// problemf returns a problem at a place.
func problemf(at Position, marker, format string, args ...any) Problem {
	return Problem{Position: at, Marker: marker, Message: fmt.Sprintf(format, args...)}
}
