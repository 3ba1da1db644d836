package noun_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/koctest"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func things() noun.Noun {
	return noun.Noun{Name: "thing", Service: "network", Path: "/things", Key: "thing"}
}

// entries are commands of a noun, with something of everything the engine has.
func entries() []command.Entry {
	n := things()
	free := noun.Noun{Name: "free", Service: "network", Path: "/free", Key: "free", AnyID: true, ByName: "-"}
	bare := noun.Noun{Name: "bare", Service: "image", Path: "/bare", Key: "-", Keys: "bare", Patch: true, Label: "-"}
	selecting := n
	selecting.Select = "fields"
	up := func(v any) any { return render.UpDownCell(v) }
	columns := []noun.Column{
		{Title: "ID", Attr: "id"},
		{Title: "Name", Attr: "name"},
		{Title: "State", Attr: "up", Cell: up, Long: true},
		{Title: "Host", Attr: "host", OptIn: true},
		{Title: "HA", Attr: "ha", IfSet: true},
		{Title: "Mine", Attr: "mine", Own: true},
		{Title: "Theirs", Attr: "theirs", Compat: true},
	}
	fields := []noun.Field{
		noun.String("text", "<text>", "", "A text"), noun.Number("number", "<n>", "deep.number", "A number"),
		noun.Strings("item", "<item>", "items", "An item"), noun.On("up", "up", true, "Up"), noun.On("down", "up", false, "Down"),
		noun.On("nothing", "nothing", noun.Null{}, "Null"), n.Reference("other", "<thing>", "other_id", "Another"),
		n.References("others", "<thing>", "other_ids", "More"),
		{Flag: command.Flag{Name: "pair", Value: "<k=v>", Type: command.KeyValue, Help: "Pairs"}},
		{Flag: command.Flag{Name: "ratio", Value: "<r>", Type: command.Float, Default: "0.5", Help: "A ratio"}},
	}
	return []command.Entry{
		{Name: "thing list", Build: n.List(noun.Listing{Short: "List", Columns: columns, Paged: true, Filters: fields[:8]})},
		{Name: "thing select", Build: selecting.List(noun.Listing{Short: "List", Columns: columns})},
		{Name: "thing kept", Build: n.List(noun.Listing{
			Short: "List", Columns: columns, Paged: true, KeepNeeds: []string{"up"}, Keep: func(_ *command.Call, o noun.Object) bool { return o.Bool("up") },
		})},
		{Name: "thing show", Build: n.Show(noun.Showing{Short: "Show", Arg: n.Ref("<thing>", "show"), Fields: noun.Fields{
			Columns: []noun.Column{{Title: "name"}, {Title: "id"}, {Title: "state", Attr: "up", Cell: up}, {Title: "ha", IfSet: true}}, Sort: true, OwnRest: true, Hide: []string{"tenant_id"},
		}})},
		{Name: "thing create", Build: n.Create(noun.Writing{
			Short: "Create", Args: []command.Arg{{Name: "<name>", Help: "Name"}}, NameArg: "<name>", Fields: fields,
			Shown: noun.Fields{Columns: []noun.Column{{Title: "id"}}},
		})},
		{Name: "thing set", Build: n.Set(noun.Writing{Short: "Set", Args: []command.Arg{n.Ref("<thing>", "change")}, RefArg: "<thing>", Fields: fields[:9]})},
		{Name: "thing delete", Build: n.Delete(noun.Deleting{
			Short: "Delete", Arg: command.Arg{Name: "<thing>", Help: "Things", Many: true}, Flags: []command.Flag{command.Parallel()},
		})},
		{Name: "free show", Build: free.Show(noun.Showing{Short: "Show", Arg: free.Ref("<free>", "show"), Fields: noun.Fields{Columns: []noun.Column{{Title: "id"}}}})},
		{Name: "bare show", Build: bare.Show(noun.Showing{Short: "Show", Arg: bare.Ref("<bare>", "show"), Fields: noun.Fields{Rest: true}})},
		{Name: "bare set", Build: bare.Set(noun.Writing{
			Short: "Set", Args: []command.Arg{bare.Ref("<bare>", "change")}, RefArg: "<bare>", Fields: fields[:1],
		})},
		{Name: "bare list", Build: bare.List(noun.Listing{Short: "List", Columns: []noun.Column{{Title: "id", Attr: "id"}}})},
		{Name: "thing wait", Build: waiting},
	}
}

const uuid = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

func stock() []koctest.Stock {
	return []koctest.Stock{
		{Service: "network", Path: "/things", Keys: "things", Key: "thing", Items: `[
			{"id":"` + uuid + `","name":"one","up":true,"tenant_id":"p1"},
			{"id":"t2","name":"two","up":false,"ha":true,"tenant_id":"p1"},
			{"id":"t3","name":"twin"},{"id":"t4","name":"twin"},
			{"id":"t5","name":"11112222333344445555666677778888"}]`},
		{Service: "network", Path: "/free", Keys: "frees", Key: "free", Items: `[{"id":"any text","name":"n"},{"id":"x","name":"named"}]`},
	}
}

func TestCommandsOfANoun(t *testing.T) {
	t.Parallel()
	koctest.Test(t, entries(), stock(), []koctest.Case{
		{Line: "thing list -f value --text a --up --item x --item y --other one", API: `
			GET network /things?text=a&up=true&items=x&items=y&other_id=` + uuid + `
			= {"things":[{"id":"t1","name":"n","up":true,"host":"h"}]}`, Out: "t1\tn"},
		{Line: "thing list -f value --long -c ID -c State -c host", API: `
			GET network /things
			= {"things":[{"id":"t1","name":"n","up":true,"host":"h"}]}`, Out: "t1\tUP\th"},
		{Line: "thing list -f csv", API: "GET network /things\n= {\"things\":[{\"id\":\"a\"},{\"id\":\"b\",\"ha\":false}]}", Out: "ID,Name,HA,Mine\na,,,\nb,,false,"},
		{Line: "thing list -f csv", Compat: true, API: "GET network /things\n= {\"things\":[{\"id\":\"a\",\"theirs\":1}]}", Out: "\"ID\",\"Name\",\"Theirs\"\n\"a\",\"\",1"},
		{Line: "thing select -f value -c ID -c Name", API: "GET network /things?fields=id&fields=name\n= {\"things\":[]}", Out: "-"},
		{Line: "thing list -f value -c ID --limit 2 --marker m", API: `
			GET network /things?limit=2&marker=m
			= {"things":[{"id":"a"},{"id":"b"},{"id":"c"}],"things_links":[{"rel":"next","href":"` + koctest.Endpoint("network") + `/things?marker=c"}]}`, Out: "a\nb"},
		{Line: "thing kept -f value -c ID --limit 1", API: `
			GET network /things
			= {"things":[{"id":"a","up":false},{"id":"b","up":true},{"id":"c","up":true}]}`, Out: "b"},
		{Line: "thing list -f value -c Name", API: "GET network /things\n= {\"things\":[{\"id\":\"a\",\"name\":\"\\ud800 half\"},{\"id\":\"b\",\"name\":\"\\ud83d\\ude00\"}]}", Out: "\ufffd half\n\U0001f600"},
		{Line: "thing list", API: "GET network /things\n= 500 {}", Env: nil, Err: "internal server error"},
		{Line: "thing show one -f json", Out: `
			{
			  "id": "` + uuid + `",
			  "name": "one",
			  "state": "UP"
			}`},
		{Line: "thing show two -f value -c ha", Out: "true"},
		{Line: "thing show " + uuid + " -f value -c name", Out: "one"},
		{Line: "thing show 11112222333344445555666677778888 -f value -c id", Out: "t5"},
		{Line: "thing show twin", Err: `2 things have the name "twin": give the id of one: t3, t4`},
		{Line: "thing show none", Err: `no thing has the name or id "none"`},
		{Line: "thing show ''", Err: "no thing"},
		{Line: "thing create new", API: `POST network /things {"thing":{"name":"new","ratio":0.5}}`, Out: "+-------+-------+\n| Field | Value |\n+-------+-------+\n| id    | new   |\n+-------+-------+"},
		{
			Line: "thing create new --text t --number 4 --item a --item b --up --nothing --other two --others one --others two --pair a=b --pair c= --ratio 2",
			API: `POST network /things {"thing":{"name":"new","text":"t","deep":{"number":4},"items":["a","b"],"up":true,"nothing":null,
				"other_id":"t2","other_ids":["` + uuid + `","t2"],"pair":{"a":"b","c":""},"ratio":2}}`,
		},
		{Line: "thing create new --other missing", Err: `no thing has the name or id "missing"`},
		{Line: "thing create new", API: "POST network /things {\"thing\":{\"name\":\"new\",\"ratio\":0.5}}\n= 409 {\"NeutronError\":{\"type\":\"InUse\",\"message\":\"It is there\",\"detail\":\"\"}}", Err: "It is there"},
		{Line: "thing set two --down --text ''", API: `PUT network /things/t2 {"thing":{"text":"","up":false}}`, Out: "-"},
		{Line: "thing set two", Out: "-"},
		{Line: "thing delete one two one", API: "DELETE network /things/" + uuid + "\nDELETE network /things/t2", Out: "-"},
		{Line: "thing delete --parallel 3 two missing twin", API: "DELETE network /things/t2", Err: "2 of 3 things failed to delete"},
		{Line: "free show 'any text' -f value", API: "GET network /free/any%20text\n= {\"free\":{\"id\":\"any text\"}}", Out: "any text"},
		{Line: "free show named -f value", Out: "x"},
		{Line: "bare show b1 -f value", API: "GET image /bare/b1\n= {\"id\":\"b1\",\"x\":[1]}", Out: "b1\n1"},
		{Line: "bare show b1", API: "GET image /bare/b1\n= 404 {}", Err: `no bare has the name or id "b1"`},
		{Line: "bare set b1 --text t", API: "GET image /bare/b1\n= {\"id\":\"b1\"}\nPATCH image /bare/b1 {\"text\":\"t\"}"},
		// Pages of glance and of keystone, whose links differ.
		{Line: "bare list -f value", API: `
			GET image /bare
			= {"bare":[{"id":"a"}],"next":"/v2/bare?marker=a"}
			GET image /bare?marker=a
			= {"bare":[{"id":"b"}],"next":"` + koctest.Endpoint("image") + `/bare?marker=b"}
			GET image /bare?marker=b
			= {"bare":[{"id":"c"}],"links":{"next":null,"self":"x"}}`, Out: "a\nb\nc"},
		{Line: "bare list -f value", API: `
			GET image /bare
			= {"bare":[{"id":"a"}],"links":{"next":"https://other.test/image/v2/bare?marker=a"}}
			GET image /bare?marker=a
			= {"bare":[{"id":"b"}],"links":{"next":"https://other.test/image/v2/bare?marker=a"}}`, Err: "goes in circles"},
		{Line: "bare list", API: "GET image /bare\n= {\"others\":[]}", Err: `has no list "bare"`},
	})
}

// waiting waits for a thing to be ready, as the argument says for how long.
func waiting() command.Command {
	return command.Command{
		Short: "Wait", Args: []command.Arg{{Name: "<id>", Help: "Thing"}}, Flags: append(noun.WaitFlags("it is ready", time.Minute), command.Flag{Name: "gone", Help: "Until gone"}),
		Run: func(ctx context.Context, c *command.Call) error {
			w := noun.Wait{What: "the thing to be ready", Timeout: time.Minute}
			if w.Probe = things().Settled(c, c.Text("<id>"), "status", []string{"ready"}, []string{"error"}); c.Is("gone") {
				w.Probe = things().Gone(c, c.Text("<id>"), "status", []string{"error"})
			}
			begin := time.Now()
			err := w.Until(ctx, c)
			c.Printf("%s", time.Since(begin).Truncate(time.Second))
			return err
		},
	}
}

func status(times int, s string) string {
	return strings.Repeat("GET network /things/x\n= {\"thing\":{\"id\":\"x\",\"status\":\""+s+"\"}}\n", times)
}

func TestWaiting(t *testing.T) {
	t.Parallel()
	const gone = "GET network /things/x\n= 404 {}\n"
	koctest.Test(t, entries(), nil, []koctest.Case{
		{Line: "thing wait x", API: status(1, "READY"), Out: "0s"},
		{Line: "thing wait x ", API: status(3, "building") + status(1, "ready")},
		{Line: "thing wait  x", API: status(1, "building") + status(1, "ERROR"), Err: `thing "x" went into the state ERROR`},
		{Line: "thing wait x  ", API: gone, Err: "(404"},
		{Line: "thing wait x --gone", API: status(2, "deleting") + gone},
		{Line: "thing wait x --gone ", API: status(1, "deleted")},
		{Line: "thing wait  x --gone", API: status(1, "error"), Err: "went into the state error"},
		{Line: "thing wait x --wait-timeout 1ms", API: status(1, "building"), Err: `gave up waiting for the thing to be ready after 1ms (last "building")`},
		{Line: "thing wait x --wait-timeout soon", Err: `"soon" is no duration`},
	})
}

func TestDurations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{"90": 90 * time.Second, "90s": 90 * time.Second, "10m": 10 * time.Minute, "0": 0} {
		if got, err := noun.ParseDuration(text); err != nil || got != want {
			t.Errorf("%q is %v (%v), want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "-1s", "x", "5 m"} {
		if got, err := noun.ParseDuration(text); err == nil {
			t.Errorf("%q is taken as %v", text, got)
		}
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		uuid: true, strings.ReplaceAll(uuid, "-", ""): true, strings.ToUpper(uuid): true, "": false, "web1": false, strings.Repeat("g", 32): false,
		"0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f": false, "0f1e2d3c-4b5a-6978-8796a-5b4c3d2e1f0": false, "--------------------------------": false,
	} {
		if got := noun.LooksLikeID(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestPathsOfObjects(t *testing.T) {
	t.Parallel()
	var o noun.Object
	o.Put("a.b.c", int64(1))
	o.Put("a.b.d", "x")
	o.Put("a.e", []any{"p", int64(2), nil})
	o.Put("dot.ted", true)
	o.Set("dot.ted", "first") // beside dot
	if got := o.Int("a.b.c"); got != 1 {
		t.Errorf("a.b.c is %d", got)
	}
	if got := o.Text("dot.ted"); got != "first" {
		t.Errorf("a name with a dot is %q", got)
	}
	if diff := cmp.Diff([]string{"p", "2", ""}, o.Texts("a.e")); diff != "" {
		t.Error(diff)
	}
	if v, has := o.Lookup("a.nothing"); has || v != nil || o.Object("a.e") != nil || len(o.Objects("a")) != 0 || o.Bool("a") {
		t.Error("something comes of nothing")
	}
	text, err := o.MarshalJSON()
	if want := `{"a":{"b":{"c":1,"d":"x"},"e":["p",2,null]},"dot":{"ted":true},"dot.ted":"first"}`; err != nil || string(text) != want {
		t.Errorf("%s (%v), want %s", text, err, want)
	}
}

func TestErrorsAreKnown(t *testing.T) {
	t.Parallel()
	if !noun.IsNotFound(&noun.NotFound{}) || !noun.IsNotFound(&cloud.Fault{Status: 404}) || noun.IsNotFound(&cloud.Fault{Status: 409}) || noun.IsNotFound(io.EOF) || noun.IsNotFound(nil) {
		t.Error("what is not found is not told from the rest")
	}
	if err := error(&noun.Ambiguous{Noun: "thing", Ref: "x", IDs: []string{"a", "b"}}); !strings.Contains(err.Error(), "a, b") {
		t.Errorf("ids are left out: %v", err)
	}
	var failed *noun.Failed
	if err := error(&noun.Failed{Noun: "thing", Ref: "x", State: "ERROR", Reason: "why"}); !errors.As(err, &failed) || !strings.HasSuffix(err.Error(), "ERROR: why") {
		t.Errorf("the reason is left out: %v", err)
	}
}

// FuzzPage reads lists that may be anything: it ends, with things or an error.
func FuzzPage(f *testing.F) {
	f.Add(`{"things":[{"id":1},"bare",null],"things_links":[{"rel":"next","href":"/v2.0/things?marker=1"}]}`)
	f.Add(`{"links":{"next":"http://[::1"},"things":null}`)
	f.Add(`{"next":"%zz","things":[{}]}`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		c := koctest.Answering(t, func(string) string { return text })
		s, err := c.Service(t.Context(), "network")
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, err := range noun.Pages(t.Context(), s, "/things", url.Values{}, "things", 100, noun.Wanted{"id": nil}) {
			if n++; err != nil || n > 100 {
				break
			}
		}
		if n > 101 {
			t.Errorf("%d things", n)
		}
	})
}
