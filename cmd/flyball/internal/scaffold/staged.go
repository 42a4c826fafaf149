package scaffold

// Stage is a copy of a project that another package changes. The project changes at Commit, or not at
// all.
type Stage struct{ st *stage }

// NewStage copies the project in dir, except hidden and built files. Drop must be called.
func NewStage(dir string) (*Stage, error) {
	st, err := newStage(dir)
	if err != nil {
		return nil, err
	}
	if err := st.absolute(); err != nil {
		st.drop()
		return nil, err
	}
	return &Stage{st}, nil
}

// Dir is the folder of the copy. The go.mod in it has absolute paths of replaced modules.
func (s *Stage) Dir() string { return s.st.dir }

// Write writes a file into the copy. Relative paths of replaced modules in a go.mod are those of the
// project.
func (s *Stage) Write(name string, data []byte) error {
	if err := s.st.write(name, data); err != nil || name != "go.mod" {
		return err
	}
	return s.st.absolute()
}

// Changes returns the files that differ, by name.
func (s *Stage) Changes() ([]Change, error) { return s.st.changes() }

// Commit writes changes into the project. It refuses those of a file that has changed meanwhile. If
// it fails halfway, it reverts its changes.
func (s *Stage) Commit(changes []Change) error { return s.st.put(changes) }

// Drop removes the copy.
func (s *Stage) Drop() { s.st.drop() }
