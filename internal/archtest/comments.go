package archtest

import "strings"

// Comments returns the packages whose doc comment is missing, doubled, or does
// not begin with "Package name" (a command: "Command name").
func Comments(packages []Package) []string {
	var found []string
	for _, p := range packages {
		want := "Package " + p.Name + " "
		if p.Name == "main" {
			want = "Command " + p.Dir[strings.LastIndex(p.Dir, "/")+1:] + " "
		}
		var docs []string
		for _, f := range p.Files {
			if f.Doc != nil {
				docs = append(docs, f.Doc.Text())
			}
		}
		switch {
		case len(docs) == 0:
			found = append(found, p.Dir+": no package comment")
		case len(docs) > 1:
			found = append(found, p.Dir+": more than one package comment")
		case !strings.HasPrefix(docs[0], want):
			found = append(found, p.Dir+": the package comment does not begin with "+want)
		}
	}
	return found
}
