package all_test

import (
	"testing"

	"github.com/holdfast-ops/holdfast/internal/om/driver/all"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
	"github.com/holdfast-ops/holdfast/internal/om/object"
	"github.com/holdfast-ops/holdfast/internal/om/schema"
)

// each calls visit for every keyword that may be written, in every schema.
func each(visit func(section, typ string, k *keyword.Keyword)) {
	schemas := []*keyword.Schema{schema.Node(), schema.Cluster()}
	for _, kind := range object.Kinds() {
		schemas = append(schemas, schema.Object(kind, all.Registry().Sections(kind)))
	}
	for _, sch := range schemas {
		for _, s := range sch.Sections {
			for typ, build := range s.Types {
				for _, k := range build().Keywords() {
					visit(s.Name, typ, k)
				}
			}
		}
	}
}

// nonsense are texts that hardly any form allows.
func nonsense() []string {
	return []string{"no such value", "../..", "-1", "zz", "[x", `"unclosed`, "//", "a b@"}
}

// strict is a site whose nodes are known.
func strict() keyword.Context {
	return keyword.Context{Nodes: func(selector string) ([]string, error) {
		sel, err := object.ParseNodeSelector(selector)
		if err != nil {
			return nil, err
		}
		return sel.Select([]string{"n1", "n2"}, nil)
	}}
}

// freeTexts are the keywords whose value may be anything, and why. A new keyword
// is either checked or comes here.
func freeTexts() map[string]string {
	const (
		human   = "words for people"
		foreign = "a name in the words of another system, which alone knows them"
		secret  = "made elsewhere, and of no form we know"
	)
	return map[string]string{
		"DEFAULT id":      "the store asks for a uuid where it changes, and keeps those of old",
		"DEFAULT comment": human, "DEFAULT cn": "a host name, or what the holder of the certificate is called",
		"DEFAULT l": human, "DEFAULT o": human, "DEFAULT ou": human, "DEFAULT st": human,
		"* desc": human, "* tags": "any words, which --tag repeats",
		"node asset_env": foreign, "node sec_zone": human, "node team_integ": human, "node team_support": human,
		"node loc_country": human, "node loc_zip": human, "node loc_city": human, "node loc_addr": human, "node loc_building": human,
		"node loc_floor": human, "node loc_room": human, "node loc_rack": human,
		"node bios_version": human, "node cpu_freq": human, "node cpu_model": human, "node enclosure": human, "node manufacturer": human,
		"node model": human, "node os_arch": human, "node os_kernel": human, "node os_release": human, "node os_vendor": human,
		"node serial": human, "node sp_version": human,
		"cluster former_secrets": "the agent writes it, and a refusal would show a secret",
		"cluster secret":         "any text is a secret", "listener openid_client_id": foreign,
		"hb username": foreign, "arbitrator username": foreign, "array username": foreign, "switch username": foreign, "switch name": foreign,
		"array name": foreign, "array wwid_prefix": foreign, "array client_id": secret, "array key_id": secret, "array issuer": foreign,
		"pool diskgroup": foreign, "pool hypermetrodomain": foreign, "pool label_prefix": foreign, "pool pool_id": foreign, "pool pod": foreign,
		"pool rdfg": foreign, "pool slo": foreign, "pool srp": foreign, "pool volume_id_range_from": foreign, "pool volume_id_range_to": foreign,
		"pool volumegroup": foreign, "pool vsm_id": foreign, "pool template": "the key of a cfg object, for pools of replicated volumes",
		"task stop":      "accepted, and not read",
		"container user": "an account of the image", "container cwd": "a directory of the image", "container dns_search": "domains, or a dot for none",
	}
}

func TestEveryKeywordRefusesNonsenseOrIsFreeText(t *testing.T) {
	t.Parallel()
	free, told := freeTexts(), map[string]bool{}
	each(func(section, typ string, k *keyword.Keyword) {
		name := section + " " + k.Name
		if told[name+typ] {
			return
		}
		told[name+typ] = true
		refused := false
		for _, text := range nonsense() {
			refused = refused || k.Convert(text, strict()) != nil
		}
		if free[name] == "" && free["* "+k.Name] == "" && !refused {
			t.Errorf("%s (%s, of %s) takes any text: give it a rule, or say in freeTexts why it has none", name, k.Type, typ)
		}
	})
}
