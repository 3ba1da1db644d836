package httpd

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// definitions documents the keywords of a schema that q selects.
func definitions(schema *keyword.Schema, q api.KeywordQuery) api.KeywordDefinitionList {
	list := api.KeywordDefinitionList{Kind: "KeywordDefinitionList", Items: []api.KeywordDefinition{}}
	for _, section := range schema.Sections {
		if q.Section != "" && q.Section != section.Name {
			continue
		}
		for _, driver := range slices.Sorted(maps.Keys(section.Types)) {
			if q.Driver != "" && q.Driver != section.Name+"."+driver {
				continue
			}
			for _, k := range section.Types[driver]().Keywords() {
				if q.Option == "" || q.Option == k.Name {
					list.Items = append(list.Items, definition(section.Name, driver, k))
				}
			}
		}
	}
	return list
}

func definition(section, driver string, k *keyword.Keyword) api.KeywordDefinition {
	d := api.KeywordDefinition{
		Section: section, Option: k.Name, Scopable: k.Definition.Option.Scopable, Converter: string(k.Type), Text: k.Help,
		DefaultText: k.DefaultDoc, Example: k.Example, Default: k.Definition.Option.Default, DefaultOption: k.Definition.Option.HeadName,
		Candidates: nonNil(k.Candidates), Depends: nonNil(k.Depends), Kind: []string{}, Types: []string{},
		Provisioning: k.IsProvisioning, Aliases: nonNil(k.Aliases), Inherit: k.Definition.Option.Inherit.String(),
		Deprecated: k.Deprecation, Required: k.Definition.Option.Required,
	}
	for _, kind := range k.Kinds {
		d.Kind = append(d.Kind, string(kind))
	}
	if driver != "" {
		d.Types = append(d.Types, strings.TrimPrefix(driver, section+"."))
	}
	return d
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
