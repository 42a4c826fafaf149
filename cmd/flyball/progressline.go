package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// progressLine shows a person how far something is: a line that is replaced on a terminal, and
// elsewhere one each ten seconds.
type progressLine struct {
	out      io.Writer
	terminal bool
	open     bool // a line is shown that is to be replaced
	last     time.Time
}

func newProgressLine(out io.Writer) progressLine {
	f, ok := out.(*os.File)
	return progressLine{out: out, terminal: ok && term.IsTerminal(int(f.Fd())), last: time.Now()}
}

const (
	eachOnTerminal = 100 * time.Millisecond
	eachElsewhere  = 10 * time.Second
)

// show shows how far it is, unless something was shown just before.
func (p *progressLine) show(now string) {
	each := eachElsewhere
	if p.terminal {
		each = eachOnTerminal
	}
	if time.Since(p.last) < each {
		return
	}
	p.last = time.Now()
	p.end()
	fmt.Fprint(p.out, now)
	if p.open = p.terminal; !p.open {
		fmt.Fprintln(p.out)
	}
}

// end removes the line that is shown.
func (p *progressLine) end() {
	if p.open {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.open = false
	}
}
