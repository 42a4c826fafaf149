package contender

import "fmt"

// Library is one of those that are compared, as the program of a contender has it: there is one in
// each, so that a process is as large as that of somebody who uses it.
type Library struct {
	// Name is one of Libraries.
	Name string
	// New makes a contender. The options have been checked. It may silence the logs of the process.
	New func(Options) (Contender, error)
	// NewQueue makes a work queue.
	NewQueue func() (Queue, error)
}

// Open makes the contender of a name, which has to be one of this library. Where the name has a view
// or settings they replace those of the options.
func (l Library) Open(name Name, o Options) (Contender, error) {
	if name.Library != l.Name {
		return nil, fmt.Errorf("contender of %s: this program has %s", name.Library, l.Name)
	}
	o = name.of(o)
	if err := o.check(); err != nil {
		return nil, err
	}
	return l.New(o)
}
