package api

import "github.com/holdfast-ops/holdfast/internal/om/rbac"

// DataQuery selects keys of an object.
type DataQuery struct {
	ObjectName
	Keys []string `query:"name,explode" doc:"Key to return, or a pattern as *.conf; repeat it for more, none returns every key." example:"app.conf"`
}

// DataKey is a key and its value.
type DataKey struct {
	Name  string `json:"name" example:"app.conf"`
	Bytes []byte `json:"bytes" doc:"The value, in base64." example:"bGlzdGVuID0gODAK"`
}

// DataKeys are keys and their values, sorted by name.
type DataKeys []DataKey

// PatchDataKey is one change of a key. The case of its encoding is that of MIME,
// which knows none: the library that checks requests takes no empty value in the
// one it writes in lower case.
type PatchDataKey struct {
	Action string  `json:"action" enum:"add,change,remove,rename" doc:"What is done: add refuses a key that exists, the others one that does not." example:"add"`
	Name   string  `json:"name" doc:"The key." example:"app.conf"`
	To     string  `json:"to,omitempty" doc:"Its new name, of a rename; no key may have it." example:"old.conf"`
	String *string `json:"string,omitempty" doc:"Its value, of an add or a change, when it is text." example:"listen = 80"`
	Bytes  *[]byte `json:"bytes,omitempty" encoding:"BASE64" doc:"Its value, of an add or a change, in base64."`
}

// PatchDataKeys are changes, made in order.
type PatchDataKeys []PatchDataKey

// DataPatch is one transaction on the keys of an object.
type DataPatch struct {
	ObjectName
	Body PatchDataKeys
}

// DataKeyName is a key of an object.
type DataKeyName struct {
	ObjectName
	Key string `query:"name" required:"true" doc:"The key." example:"app.conf"`
}

// DataKeyValue is a key of an object and the value it is given.
type DataKeyValue struct {
	DataKeyName
	RawBody []byte `contentType:"application/octet-stream" required:"false"`
}

// DataKeyChange is a [DataKeyValue] for a key that exists.
type DataKeyChange struct {
	DataKeyName
	IfMatch string `header:"If-Match" doc:"Refuse with 412 unless the value is the one of this entity tag, as its ETag gave it."`
	RawBody []byte `contentType:"application/octet-stream" required:"false"`
}

// DataKeyContent is the value of a key.
type DataKeyContent struct {
	ETag    string `header:"ETag" doc:"Identifies the value: send it back in If-Match to replace this one and no other."`
	RawBody []byte `contentType:"application/octet-stream"`
}

// DataKeyListItem describes a key.
type DataKeyListItem struct {
	Node   string `json:"node" doc:"Node that answered." example:"node1"`
	Object string `json:"object" example:"ns1/cfg/app"`
	Name   string `json:"name" example:"app.conf"`
	Size   int    `json:"size" doc:"Bytes of the value, of its hash for the password of a user; -1 when it is damaged." example:"12"`
}

// DataKeyList is a list of [DataKeyListItem].
type DataKeyList List[DataKeyListItem]

const (
	dataPath = "/api/object/path/{namespace}/{kind}/{name}/data"
	dataTag  = "object data"

	// keysDoc is said by the operations that give values.
	keysDoc = "The values of sec and usr objects need admin in the namespace, root in the namespace system. The password of a user is kept as a hash: it is never given."
	// namesDoc is said by the operations that make keys.
	namesDoc = "A name may be a path, as conf.d/a.conf; one that leads elsewhere, as ../a, or holds what does not print is refused. A value is limited by node.max_key_size."

	// maxValue bounds the body of a value, whatever node.max_key_size says: the
	// configuration that holds it is no larger.
	maxValue = maxConfig
	// maxPatch bounds the body of changes: values grow by a third in base64.
	maxPatch = 2 * maxConfig
)

// GetObjectData returns keys and their values.
var GetObjectData = Operation[DataQuery, DataKeys]{
	ID: "GetObjectData", Method: "GET", Path: dataPath, Tag: dataTag, Need: rbac.NeedGuest, Errors: []int{404},
	Doc: "Return keys of a cfg, sec or usr object with their values, as they are at one instant. A key named that does not exist is an error; a pattern that matches nothing is an empty list. " + keysDoc + " It is left out unless it is named.",
	Example: func() (DataQuery, DataKeys) {
		return DataQuery{ObjectName: exampleData(), Keys: []string{"app.conf"}}, DataKeys{{Name: "app.conf", Bytes: exampleValue()}}
	},
}

// PatchObjectData changes several keys.
var PatchObjectData = Operation[DataPatch, None]{
	ID: "PatchObjectData", Method: "PATCH", Path: dataPath, Tag: dataTag, Need: rbac.NeedAdmin,
	Status: 204, Errors: []int{404, 408, 409, 413}, Max: maxPatch,
	Doc: "Change keys of a cfg, sec or usr object in one transaction: the changes are made in order and committed together, or refused together. Adding a key that exists, or changing, removing or renaming one that does not, answers 409. " + namesDoc,
	Example: func() (DataPatch, None) {
		return DataPatch{ObjectName: exampleData(), Body: PatchDataKeys{
			{Action: "rename", Name: "app.conf", To: "old.conf"}, {Action: "add", Name: "app.conf", String: new("listen = 80")},
		}}, None{}
	},
}

// GetObjectDataKey returns the value of a key.
var GetObjectDataKey = Operation[DataKeyName, DataKeyContent]{
	ID: "GetObjectDataKey", Method: "GET", Path: dataPath + "/key", Tag: dataTag, Need: rbac.NeedGuest, Errors: []int{404},
	Doc: "Return the value of a key of a cfg, sec or usr object, byte for byte. " + keysDoc,
	Example: func() (DataKeyName, DataKeyContent) {
		return exampleKey(), DataKeyContent{RawBody: exampleValue()}
	},
}

// PostObjectDataKey adds a key.
var PostObjectDataKey = Operation[DataKeyValue, None]{
	ID: "PostObjectDataKey", Method: "POST", Path: dataPath + "/key", Tag: dataTag, Need: rbac.NeedAdmin,
	Status: 204, Errors: []int{404, 409, 413}, Max: maxValue,
	Doc: "Add a key to a cfg, sec or usr object, with the body as its value. A key that exists answers 409. " + namesDoc,
	Example: func() (DataKeyValue, None) {
		return DataKeyValue{DataKeyName: exampleKey(), RawBody: exampleValue()}, None{}
	},
}

// PutObjectDataKey changes a key.
var PutObjectDataKey = Operation[DataKeyChange, None]{
	ID: "PutObjectDataKey", Method: "PUT", Path: dataPath + "/key", Tag: dataTag, Need: rbac.NeedAdmin,
	Status: 204, Errors: []int{404, 412, 413}, Max: maxValue,
	Doc: "Give a key of a cfg, sec or usr object the body as its value. A key that does not exist answers 404. A value is limited by node.max_key_size.",
	Example: func() (DataKeyChange, None) {
		return DataKeyChange{DataKeyName: exampleKey(), RawBody: exampleValue()}, None{}
	},
}

// DeleteObjectDataKey removes a key.
var DeleteObjectDataKey = Operation[DataKeyName, None]{
	ID: "DeleteObjectDataKey", Method: "DELETE", Path: dataPath + "/key", Tag: dataTag, Need: rbac.NeedAdmin,
	Status: 204, Errors: []int{404},
	Doc:     "Remove a key from a cfg, sec or usr object. A key that does not exist answers 404.",
	Example: func() (DataKeyName, None) { return exampleKey(), None{} },
}

// GetObjectDataKeys lists the keys of an object.
var GetObjectDataKeys = Operation[ObjectName, DataKeyList]{
	ID: "GetObjectDataKeys", Method: "GET", Path: dataPath + "/keys", Tag: dataTag, Need: rbac.NeedGuest, Errors: []int{404},
	Doc: "List the keys of a cfg, sec or usr object with their sizes, without their values.",
	Example: func() (ObjectName, DataKeyList) {
		return exampleData(), DataKeyList{Kind: "DataKeyList", Items: []DataKeyListItem{
			{Node: "node1", Object: "ns1/cfg/app", Name: "app.conf", Size: len(exampleValue())},
		}}
	},
}

func exampleData() ObjectName { return ObjectName{Namespace: "ns1", Kind: "cfg", Name: "app"} }

func exampleKey() DataKeyName { return DataKeyName{ObjectName: exampleData(), Key: "app.conf"} }

func exampleValue() []byte { return []byte("listen = 80\n") }
