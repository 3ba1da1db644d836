package api

import (
	"time"

	"github.com/holdfast-ops/holdfast/internal/om/rbac"
)

// ConfigQuery says which keywords of a configuration are wanted, and how.
type ConfigQuery struct {
	Keywords    []string `query:"kw,explode" doc:"Keyword to return, as fs#1.mnt; repeat it for more, none returns all that are set."`
	Evaluate    bool     `query:"evaluate" doc:"Also return the values with defaults applied and references replaced."`
	Impersonate string   `query:"impersonate" doc:"Node to evaluate for, in place of the node that answers." example:"node2"`
}

// ConfigChange is one transaction on a configuration: deletions, then unsets,
// then sets.
type ConfigChange struct {
	Delete []string `query:"delete,explode" doc:"Section to remove, as fs#2."`
	Unset  []string `query:"unset,explode" doc:"Keyword to remove, as fs#1.size@node1."`
	Set    []string `query:"set,explode" doc:"Operation on a keyword, as env.list+=a; operators are = += |= -= ^= and an index."`
	Wait   string   `query:"wait" doc:"Hold the answer until every live node of the object has the new configuration, at most this long." example:"30s"`
}

// KeywordItem is a keyword of a configuration.
type KeywordItem struct {
	Object      string `json:"object" doc:"Path of the object; empty for the configuration of a node." example:"web1"`
	Node        string `json:"node" doc:"Node that answered." example:"node1"`
	Keyword     string `json:"keyword" example:"fs#1.mnt"`
	Value       string `json:"value" doc:"The value as written." example:"/srv/{name}"`
	Evaluated   any    `json:"evaluated,omitempty" doc:"The value for evaluated_as, when asked for."`
	EvaluatedAs string `json:"evaluated_as" doc:"Node the value was evaluated for." example:"node1"`
}

// KeywordList is a list of [KeywordItem].
type KeywordList List[KeywordItem]

// Committed is the outcome of a transaction.
type Committed struct {
	IsChanged    bool   `json:"is_changed" doc:"False when the configuration already said so: nothing was written."`
	LastModified string `json:"-" header:"OM-Last-Modified" doc:"Time of the configuration, as its file carries it."`
}

// Written is the answer to a configuration file.
type Written struct {
	LastModified string `json:"-" header:"OM-Last-Modified" doc:"Time of the configuration, as its file carries it."`
}

// ConfigFile is a configuration file.
type ConfigFile struct {
	ETag         string `header:"ETag" doc:"Identifies the bytes of the file: send it back in If-Match to replace these and no others."`
	LastModified string `header:"OM-Last-Modified" doc:"Time of the configuration, as its file carries it."`
	RawBody      []byte `contentType:"application/octet-stream"`
}

// ModTime returns when the file was last modified.
func (f ConfigFile) ModTime() (time.Time, error) { return time.Parse(TimeHeader, f.LastModified) }

// ConfigCondition tells which configuration a caller means to replace.
type ConfigCondition struct {
	IfMatch      string `header:"If-Match" doc:"Refuse with 412 unless the configuration is the one of this entity tag, as its ETag gave it."`
	LastModified string `header:"OM-Last-Modified" doc:"Refuse with 412 unless the configuration is still the one of this time." example:"2026-11-30T10:51:50.590123456+01:00"`
}

// KeywordQuery narrows the keyword definitions.
type KeywordQuery struct {
	Driver  string `query:"driver" doc:"Only the keywords of this driver." example:"fs.flag"`
	Section string `query:"section" doc:"Only the keywords of this section." example:"fs"`
	Option  string `query:"option" doc:"Only the keyword of this name." example:"size"`
}

// KeywordDefinition documents a keyword.
type KeywordDefinition struct {
	Section       string   `json:"section" example:"fs"`
	Option        string   `json:"option" example:"size"`
	Scopable      bool     `json:"scopable" doc:"A value may be given for one node, as size@node1."`
	Converter     string   `json:"converter" doc:"What the value is converted to." example:"size"`
	Text          string   `json:"text"`
	DefaultText   string   `json:"defaultText"`
	Example       string   `json:"example"`
	Default       string   `json:"default"`
	DefaultOption string   `json:"defaultOption" doc:"Option of the DEFAULT section that gives the default."`
	Candidates    []string `json:"candidates" doc:"The only values accepted, when not empty."`
	Depends       []string `json:"depends"`
	Kind          []string `json:"kind"`
	Provisioning  bool     `json:"provisioning" doc:"Only used to provision."`
	Types         []string `json:"types" doc:"Drivers that have it, when not empty."`
	Aliases       []string `json:"aliases"`
	Inherit       string   `json:"inherit"`
	Deprecated    string   `json:"deprecated"`
	Required      bool     `json:"required"`
	Minimal       bool     `json:"minimal"`
}

// KeywordDefinitionList is a list of [KeywordDefinition].
type KeywordDefinitionList List[KeywordDefinition]

// ObjectConfigQuery asks for keywords of an object.
type ObjectConfigQuery struct {
	ObjectName
	ConfigQuery
}

// ObjectConfigChange changes the configuration of an object.
type ObjectConfigChange struct {
	ObjectName
	ConfigChange
}

// ObjectConfigFile carries the configuration file of an object.
type ObjectConfigFile struct {
	ObjectName
	ConfigCondition
	RawBody []byte `contentType:"application/octet-stream"`
}

// ObjectConfigCreate carries the configuration file of a new object.
type ObjectConfigCreate struct {
	ObjectName
	Restore bool   `query:"restore" doc:"Keep the recorded keywords, the id of the object among them."`
	Force   bool   `query:"force" doc:"Replace an object of the same name."`
	RawBody []byte `contentType:"application/octet-stream" required:"false"`
}

// ObjectKeywordQuery asks for the keywords an object may have.
type ObjectKeywordQuery struct {
	ObjectName
	KeywordQuery
}

// GetObjectConfig returns keywords of an object.
var GetObjectConfig = Operation[ObjectConfigQuery, KeywordList]{
	ID: "GetObjectConfig", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}/config", Tag: "object config",
	Need: rbac.NeedGuest, Errors: []int{404},
	Doc: "Return keywords of the configuration of an object, as written and, with evaluate, as they are for a node. " + sealedDoc,
	Example: func() (ObjectConfigQuery, KeywordList) {
		return ObjectConfigQuery{ObjectName: exampleName(), ConfigQuery: ConfigQuery{Keywords: []string{"fs#1.mnt"}, Evaluate: true}},
			exampleKeywords("web1")
	},
}

// Writing a configuration needs a role on the object, see [rbac.Need.On]; some
// keywords ask for more, see package policy.

// PatchObjectConfig changes the configuration of an object.
var PatchObjectConfig = Operation[ObjectConfigChange, Committed]{
	ID: "PatchObjectConfig", Method: "PATCH", Path: "/api/object/path/{namespace}/{kind}/{name}/config", Tag: "object config",
	Need: rbac.NeedWriter, Errors: []int{404, 408},
	Doc: "Change the configuration of an object in one transaction: sections deleted, keywords unset, keywords set, in this order. The result is validated before it is written, and read by the daemon before the answer. A wait that expires answers 408; the configuration is committed all the same, so do not send the change again. " + grantDoc + " " + formDoc,
	Example: func() (ObjectConfigChange, Committed) {
		return ObjectConfigChange{ObjectName: exampleName(), ConfigChange: ConfigChange{Set: []string{"env.foo=bar"}}}, exampleCommitted()
	},
}

// GetObjectConfigFile returns the configuration file of an object.
var GetObjectConfigFile = Operation[ObjectName, ConfigFile]{
	ID: "GetObjectConfigFile", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}/config/file", Tag: "object config",
	Need: rbac.NeedGuest, Errors: []int{404},
	Doc:     "Return the configuration file of an object, byte for byte. " + sealedDoc,
	Example: func() (ObjectName, ConfigFile) { return exampleName(), exampleFile() },
}

// PostObjectConfigFile creates an object.
var PostObjectConfigFile = Operation[ObjectConfigCreate, Written]{
	ID: "PostObjectConfigFile", Method: "POST", Path: "/api/object/path/{namespace}/{kind}/{name}/config/file", Tag: "object config",
	Need: rbac.NeedWriter, Status: 204, Errors: []int{409, 413}, Max: maxConfig,
	Doc: "Create an object from a configuration file. Nothing is started. An object of the same name is refused, unless force is set. The first object of a namespace needs squatter, who becomes admin of it. " + grantDoc,
	Example: func() (ObjectConfigCreate, Written) {
		return ObjectConfigCreate{ObjectName: exampleName(), RawBody: exampleFile().RawBody}, Written{LastModified: exampleTime}
	},
}

// PutObjectConfigFile replaces the configuration of an object.
var PutObjectConfigFile = Operation[ObjectConfigFile, Written]{
	ID: "PutObjectConfigFile", Method: "PUT", Path: "/api/object/path/{namespace}/{kind}/{name}/config/file", Tag: "object config",
	Need: rbac.NeedWriter, Status: 204, Errors: []int{404, 412, 413}, Max: maxConfig,
	Doc: "Replace the configuration of an existing object. A configuration that does not validate is refused, with each of its problems. " + grantDoc,
	Example: func() (ObjectConfigFile, Written) {
		return ObjectConfigFile{ObjectName: exampleName(), RawBody: exampleFile().RawBody}, Written{LastModified: exampleTime}
	},
}

// GetObjectConfigKeywords documents the keywords an object may have.
var GetObjectConfigKeywords = Operation[ObjectKeywordQuery, KeywordDefinitionList]{
	ID: "GetObjectConfigKeywords", Method: "GET", Path: "/api/object/path/{namespace}/{kind}/{name}/config/keywords", Tag: "object config",
	Need: rbac.Known,
	Doc:  "Document the keywords an object of this kind may have.",
	Example: func() (ObjectKeywordQuery, KeywordDefinitionList) {
		return ObjectKeywordQuery{ObjectName: exampleName(), KeywordQuery: KeywordQuery{Section: "app"}}, exampleDefinitions("app", "start")
	},
}

// grantDoc is said by the operations that write the configuration of an object.
const grantDoc = "Some keywords ask for more than the role on the object, as config doc says of each: what the write changes, be it through a reference, is refused with 403 to who lacks the grant."

// formDoc is said by the operations that change a configuration.
const formDoc = "The parameters may also come in a body of type application/x-www-form-urlencoded."

// sealedDoc is said by the operations that show a configuration.
const sealedDoc = "The configurations of sec and usr objects hold sealed keys: reading them needs admin in the namespace, root in the namespace system, where the documentation of the former agent says guest. That of the cluster needs root."

// maxConfig bounds a configuration file: secrets of a megabyte each fit in it.
const maxConfig = 16 << 20

const exampleTime = "2026-11-30T10:51:50.590123456+01:00"

func exampleFile() ConfigFile {
	return ConfigFile{LastModified: exampleTime, RawBody: []byte("[app#1]\ntype = simple\nstart = /usr/bin/python3 -m http.server 8099\n")}
}

func exampleCommitted() Committed { return Committed{IsChanged: true, LastModified: exampleTime} }

func exampleKeywords(object string) KeywordList {
	return KeywordList{Kind: "KeywordList", Items: []KeywordItem{{
		Object: object, Node: "node1", Keyword: "fs#1.mnt", Value: "/srv/{name}", Evaluated: "/srv/web1", EvaluatedAs: "node1",
	}}}
}

func exampleDefinitions(section, option string) KeywordDefinitionList {
	return KeywordDefinitionList{Kind: "KeywordDefinitionList", Items: []KeywordDefinition{{
		Section: section, Option: option, Scopable: true, Converter: "string", Text: "What the keyword is for.",
		Candidates: []string{}, Depends: []string{}, Kind: []string{"svc"}, Types: []string{}, Aliases: []string{},
	}}}
}
