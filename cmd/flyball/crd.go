package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/flyball-io/flyball/cmd/flyball/internal/crddiff"
)

func newCRD() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "crd",
		Short: "Look into CustomResourceDefinitions",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newCRDDiff())
	return cmd
}

// crdDiffFlags are the flags and the arguments of "flyball crd diff".
type crdDiffFlags struct {
	output       string
	older, newer crddiff.Set
}

func newCRDDiff() *cobra.Command {
	var f crdDiffFlags
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Tell breaking changes between two states of CRDs",
		Long: `Compare CustomResourceDefinitions and tell which changes break clients or
stored objects: fields removed, types and ranges narrowed, new required fields
and rules, versions removed, and so on. Changes that break nobody are listed
as compatible; descriptions are not compared.

OLD and NEW are files, folders (all .yaml, .yml and .json files in and below
them) or, one of them, "-" for standard input. Other objects are passed over.

Exit status: 0 when nothing breaks, 1 when something does, 2 when the command
line is wrong or OLD or NEW cannot be read.`,
		Example: `  flyball crd diff released/ config/crd/bases
  git show v1.0.0:config/crd/bases/shop.example.com_orders.yaml |
      flyball crd diff - config/crd/bases/shop.example.com_orders.yaml`,
		Args: func(cmd *cobra.Command, args []string) error {
			if err := cobra.ExactArgs(2)(cmd, args); err != nil {
				return err
			}
			return f.read(cmd.InOrStdin(), args[0], args[1])
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.OutOrStdout()) },
	}
	cmd.Flags().StringVarP(&f.output, "output", "o", "text", "`form` of the answer: text or json")
	return cmd
}

// read reads both sides.
func (f *crdDiffFlags) read(in io.Reader, older, newer string) (err error) {
	if f.output != "text" && f.output != "json" {
		return fmt.Errorf("--output %s: must be text or json", f.output)
	}
	if older == "-" && newer == "-" {
		return errors.New("only one of OLD and NEW can be standard input")
	}
	if f.older, err = readCRDs(in, older); err != nil {
		return err
	}
	f.newer, err = readCRDs(in, newer)
	return err
}

func readCRDs(in io.Reader, path string) (crddiff.Set, error) {
	if path != "-" {
		return crddiff.Read(path)
	}
	data, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	const name = "standard input"
	set := crddiff.Set{}
	if err := set.Add(name, data); err != nil {
		return nil, err
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("%s: %w", name, crddiff.ErrNoCRD)
	}
	return set, nil
}

func (f *crdDiffFlags) run(out io.Writer) error {
	changes := crddiff.Diff(f.older, f.newer)
	breaking := 0
	for _, c := range changes {
		if c.Breaking {
			breaking++
		}
	}
	if err := f.print(out, changes, breaking); err != nil {
		return err
	}
	if breaking > 0 {
		return fmt.Errorf("%s", counted(breaking, "breaking change"))
	}
	return nil
}

func (f *crdDiffFlags) print(out io.Writer, changes []crddiff.Change, breaking int) error {
	if f.output == "json" {
		e := json.NewEncoder(out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(struct {
			Breaking int              `json:"breaking"`
			Changes  []crddiff.Change `json:"changes"`
		}{breaking, append([]crddiff.Change{}, changes...)})
	}
	for _, c := range changes {
		if _, err := fmt.Fprintln(out, c); err != nil {
			return err
		}
	}
	if len(changes) == 0 {
		_, err := fmt.Fprintln(out, "no changes")
		return err
	}
	return nil
}
