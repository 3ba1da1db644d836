package tui_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/holdfast-ops/holdfast/internal/cli/screen"
	"github.com/holdfast-ops/holdfast/internal/om/api"
	"github.com/holdfast-ops/holdfast/internal/om/cluster"
	"github.com/holdfast-ops/holdfast/internal/om/command/remote"
	"github.com/holdfast-ops/holdfast/internal/om/tui"
)

// Every screen.
func TestScreens(t *testing.T) {
	t.Parallel()
	for name, play := range map[string]func(d *driver){
		"grid": func(d *driver) {
			d.shoot("the cluster")
			d.press("down", "right").shoot("an instance that is not there is selected")
			d.press("end", "left", "right", "right").shoot("an instance")
			d.press("home").shoot("a node")
		},
		"object": func(d *driver) { d.press("end", "enter").shoot("web").press("down").shoot("its other instance") },
		"instance": func(d *driver) {
			d.press("end", "right", "enter").shoot("web on node1").press("down").shoot("its other resource")
		},
		"resource": func(d *driver) {
			d.press("end", "right", "enter", "enter").shoot("a resource")
			d.press("esc", "down", "enter").shoot("one that says something")
		},
		"node": func(d *driver) { d.press("home", "enter").shoot("node1").press("esc", "right", "enter").shoot("node2") },
		"log": func(d *driver) {
			d.press("end", "l").shoot("of an object").press("esc", "home", "l").shoot("of a node")
		},
		"configuration": func(d *driver) { d.press("end", "v").shoot("of an object") },
		"help":          func(d *driver) { d.press("h").shoot("at the top").press("end").shoot("at the end") },
		"filter": func(d *driver) {
			d.press("/").typed("db").shoot("a part of a path is typed")
			d.press("enter").shoot("it is kept")
			d.press("/", "ctrl-u").typed("prod/**+!*/cfg/*").press("enter").shoot("a selector")
			d.press("/", "ctrl-u").typed("nothing").press("enter").shoot("nothing is left")
		},
		"menu": func(d *driver) {
			d.press("end", "a").shoot("on an object")
			d.press("s").shoot("is confirmed")
			d.press("n").shoot("or not")
			d.press("a", "P").shoot("what loses data is confirmed by the name")
			d.press("esc", "right", "a").shoot("on an instance")
			d.press("esc", "home", "a", "down").shoot("on a node")
		},
		"events": func(d *driver) {
			d.tell(tui.News(lab(), []api.Event{
				event(d.T, "InstanceMonitorUpdated", `{"path":"web","node":"node1","instance_monitor":{"state":"starting"}}`),
				event(d.T, "ObjectOrchestrationEnd", `{"path":"web","node":"node1","state":"failed","global_expect":"started","reason":"start failed"}`),
				event(d.T, "ExecFailed", `{"path":"web","node":"node1","title":"web instance start","error":"exit status 1"}`),
			}, at()))
			d.press("e").shoot("what happened")
		},
		"lost": func(d *driver) {
			d.tell(tui.Lost(errors.New("no daemon answers on lab:1215: connection refused"), at()))
			d.tell(screen.Tick(at().Add(12 * time.Second)))
			d.shoot("the last picture stays")
		},
		"small": func(d *driver) {
			for _, size := range []screen.Size{{Width: 40, Height: 10}, {Width: 24, Height: 5}, {Width: 10, Height: 3}} {
				d.size = size
				d.tell(size)
				d.press("end", "right").shoot("less room")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := live(t, &world{status: lab()})
			play(d)
			golden(t, name, d.film.String())
		})
	}
}

func TestAContextIsChosenFirst(t *testing.T) {
	t.Parallel()
	w := &world{contexts: []tui.Context{
		{Name: "john@lab", Server: "https://lab.example.com:1215", User: "john"},
		{Name: "mary@prod", Server: "https://prod.example.com:1215", User: "mary", Namespace: "shop", Authenticated: true},
	}}
	d := drive(t, w, tui.Options{Choose: true})
	d.shoot("the contexts")
	d.press("down", "enter").shoot("one is being connected")
	if d.model.Generation() != 1 {
		t.Errorf("generation %d", d.model.Generation())
	}
	golden(t, "contexts", d.film.String())

	d = drive(t, w, tui.Options{Choose: true})
	if d.press("q"); !d.quit {
		t.Error("there was nothing to go back to")
	}
}

func TestASelectorNarrowsWhatIsShown(t *testing.T) {
	t.Parallel()
	d := drive(t, &world{status: lab()}, tui.Options{Filter: "prod/**"})
	d.tell(tui.Live(at()))
	d.tell(tui.News(lab(), nil, at()))
	if got := d.frame(); !strings.Contains(got, "Objects 2 of 3, filter prod/**") {
		t.Error(got)
	}
}

func TestWithoutAContextItSaysHowToMakeOne(t *testing.T) {
	t.Parallel()
	d := live(t, &world{})
	d.press("c").shoot("none")
	golden(t, "nocontext", d.film.String())
}

func TestAPasswordIsAskedForAndNotShown(t *testing.T) {
	t.Parallel()
	w := &world{locked: true}
	d := drive(t, w, tui.Options{Context: "john@lab"})
	d.tell(tui.Lost(&remote.LoginError{Context: "john@lab", Reason: "nobody is logged in"}, at()))
	d.shoot("a login is needed")
	empty := d.frame()
	if shown := d.typed("wrong").frame(); shown != empty {
		t.Errorf("what is typed shows:\n%s", shown)
	}
	d.press("enter")
	d.shoot("after a wrong one")
	d.typed("rigx").press("backspace").typed("ht").press("enter")
	if diff := cmp.Diff([]string{"john@lab wrong", "john@lab right"}, w.logins); diff != "" {
		t.Error(diff)
	}
	if d.model.Generation() != 1 {
		t.Error("it did not connect")
	}
	golden(t, "login", d.shoot("after the right one").film.String())
}

// A provider asks for its password itself, in a browser.
func TestASessionOfAProviderIsNotAskedAPasswordFor(t *testing.T) {
	t.Parallel()
	d := drive(t, &world{status: lab()}, tui.Options{Context: "john@lab"})
	d.tell(tui.Lost(&remote.LoginError{Context: "john@lab", Reason: "the session ended", OpenID: true}, at()))
	if got := d.frame(); strings.Contains(got, "password for") || !strings.Contains(got, "log in with: ox context login --openid --context john@lab, then r") {
		t.Error(got)
	}
}

// The events of the connection outlive the session.
func TestAnAnswerThatTheSessionEndedAsksForThePassword(t *testing.T) {
	t.Parallel()
	ended := &remote.LoginError{Context: "john@lab", Reason: "the session ended"}
	w := &world{status: lab()}
	d := drive(t, w, tui.Options{Context: "john@lab"})
	d.tell(tui.Live(at()))
	d.tell(tui.News(lab(), nil, at()))
	d.tell(d.model.Done("freeze web: succeeded", nil, at()))
	if got := d.frame(); strings.Contains(got, "password for") {
		t.Errorf("a password is asked for after what succeeded:\n%s", got)
	}
	d.press("/").typed("web")
	d.tell(d.model.Done("freeze web: the session ended", ended, at()))
	if got := d.frame(); !strings.Contains(got, "filter: web") {
		t.Errorf("what is being typed is taken away:\n%s", got)
	}
	d.press("enter")
	d.tell(d.model.Done("freeze web: the session ended", ended, at()))
	if got := d.frame(); !strings.Contains(got, "password for john@lab:") {
		t.Errorf("no password is asked for:\n%s", got)
	}
	d.typed("right").press("enter")
	if diff := cmp.Diff([]string{"john@lab right"}, w.logins); diff != "" {
		t.Error(diff)
	}
}

func TestNothingIsDoneWithoutAYes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys []screen.Key
		text string // typed then
		want string
		says string
	}{
		"an object is started":             {[]screen.Key{"end", "a", "s", "y"}, "", "start web", "start web: succeeded"},
		"any other key than y is a no":     {[]screen.Key{"end", "a", "s", "enter"}, "", "", "nothing was done"},
		"escape is a no":                   {[]screen.Key{"end", "a", "s", "esc"}, "", "", "↑↓←→ enter"},
		"the menu may be left":             {[]screen.Key{"end", "a", "esc", "y"}, "", "", "↑↓←→ enter"},
		"the menu is walked":               {[]screen.Key{"end", "a", "down", "enter", "y"}, "", "stop web", "stop web: succeeded"},
		"an instance":                      {[]screen.Key{"end", "right", "a", "o", "y"}, "", `stop web on node1, rid ""`, "stop web on node1: failed exit status 1"},
		"a resource":                       {[]screen.Key{"end", "right", "enter", "down", "a", "t", "y"}, "", `restart web on node1, rid "app#1"`, "restart web app#1 on node1: failed exit status 1"},
		"a node":                           {[]screen.Key{"home", "right", "a", "u", "y"}, "", "freeze node node2 false", "unfreeze node node2: done"},
		"what is lost needs the name":      {[]screen.Key{"end", "a", "P"}, "web", "purge web", "purge web: succeeded"},
		"a y is not the name":              {[]screen.Key{"end", "a", "P"}, "y", "", "nothing was done: that is not web"},
		"a configuration map is not run":   {[]screen.Key{"home", "down", "a", "s", "y"}, "", "", ""},
		"it is deleted by its name":        {[]screen.Key{"home", "down", "a", "D"}, "prod/cfg/settings", "delete prod/cfg/settings", "delete prod/cfg/settings: succeeded"},
		"an instance of it is left alone":  {[]screen.Key{"home", "down", "right", "a"}, "", "", "there is nothing to do here"},
		"a text that is read is no target": {[]screen.Key{"end", "v", "a", "s", "y"}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &world{status: lab()}
			d := live(t, w)
			d.press(c.keys...)
			if c.text != "" {
				d.typed(c.text).press("enter")
			}
			if got := w.done(); got != c.want {
				t.Errorf("did %q, want %q", got, c.want)
			}
			if got := d.lastLine(); !strings.HasPrefix(got, c.says) {
				t.Errorf("it says %q, want %q", got, c.says)
			}
		})
	}
}

func TestARefusalIsSaid(t *testing.T) {
	t.Parallel()
	w := &world{status: lab(), refuse: api.NewProblem(403, "user john: start of web needs the operator role in namespace root")}
	d := live(t, w).press("end", "a", "s", "y")
	if got := d.lastLine(); got != "start web: user john: start of web needs the operator role in namespace root" {
		t.Errorf("%q", got)
	}
}

func TestNothingIsAskedOfAClusterThatIsNotThere(t *testing.T) {
	t.Parallel()
	d := live(t, &world{})
	d.tell(tui.Lost(errors.New("gone"), at()))
	if got := d.press("end", "a").lastLine(); got != "not connected" {
		t.Errorf("%q", got)
	}
}

func TestALongListIsDrawnAroundTheCursor(t *testing.T) {
	t.Parallel()
	d := live(t, &world{})
	s := lab()
	for i := range 300 {
		s.Cluster.Object[fmt.Sprintf("bulk%03d", i)] = s.Cluster.Object["web"]
	}
	d.tell(tui.News(s, nil, at()))
	for _, keys := range [][]screen.Key{{"home"}, {"pgdown"}, {"pgdown", "pgdown", "down"}, {"end"}, {"pgup"}, {"up"}} {
		d.press(keys...)
		rows := 0
		for line := range strings.Lines(d.frame()) {
			if strings.Contains(line, "bulk") {
				rows++
				if !strings.Contains(line, "ha 1/1  |  ") {
					t.Errorf("after %q: %q", keys, line)
				}
			}
		}
		if rows < 8 {
			t.Errorf("after %q: %d rows\n%s", keys, rows, d.frame())
		}
	}
	if keys := d.press("home").typed("jjj").frame(); !strings.Contains(keys, "> ‹bulk002›") {
		t.Error(keys)
	}
}

// The selection is a thing, not a place.
func TestTheSelectionStaysOnItsObject(t *testing.T) {
	t.Parallel()
	d := live(t, &world{}).press("end")
	s := lab()
	s.Cluster.Object["zzz"], s.Cluster.Object["aaa"] = cluster.Object{}, cluster.Object{}
	d.tell(tui.News(s, nil, at()))
	if !strings.Contains(d.frame(), "> ‹web›") {
		t.Error(d.frame())
	}
	delete(s.Cluster.Object, "web")
	s = clone(s)
	d.tell(tui.News(s, nil, at()))
	if !strings.Contains(d.frame(), "> ‹prod/svc/db›") && !strings.Contains(d.frame(), "> ‹zzz›") {
		t.Error(d.frame())
	}
}

func clone(s api.ClusterStatus) api.ClusterStatus {
	s, _ = tui.Apply(s)
	return s
}

func TestAPageOfWhatIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	d := live(t, &world{}).press("end", "enter", "enter", "enter")
	s := lab()
	delete(s.Cluster.Object, "web")
	for _, want := range []string{"the instance of web on node1", "the instance of web on node1", "web"} {
		d.tell(tui.News(s, nil, at()))
		if !strings.Contains(d.frame(), want+" does not exist any more") {
			t.Error(d.frame())
		}
		d.press("esc")
	}
}

func TestNewsOfAnotherConnectionAreLate(t *testing.T) {
	t.Parallel()
	w := &world{contexts: []tui.Context{{Name: "other"}}}
	d := live(t, w).press("c", "enter")
	d.tell(tui.News(lab(), nil, at()))
	d.tell(tui.Live(at()))
	if strings.Contains(d.frame(), "web") || strings.Contains(d.frame(), "live") {
		t.Error(d.frame())
	}
}

// Whatever is pressed, the screen is drawn, and nothing is done without a yes.
func TestAnyKeysAreSafe(t *testing.T) {
	t.Parallel()
	keys := []screen.Key{
		"up", "down", "left", "right", "enter", "esc", "tab", "backspace", "home", "end", "pgup", "pgdown", "a", "h", "/", "c", "e", "l", "v", "q", "r", "x", "s", "P", "D", "*", "漢", "n", " ",
	}
	rapid.Check(t, func(rt *rapid.T) {
		w := &world{status: lab(), contexts: []tui.Context{{Name: "john@lab"}}}
		d := live(t, w)
		for _, k := range rapid.SliceOfN(rapid.SampledFrom(keys), 0, 40).Draw(rt, "keys") {
			d.press(k)
			d.size = screen.Size{Width: rapid.IntRange(1, 120).Draw(rt, "width"), Height: rapid.IntRange(1, 30).Draw(rt, "height")}
			d.tell(d.size)
			if f := d.model.View(); len(f.Lines) > max(d.size.Height, 1) {
				rt.Fatalf("%d lines on %d", len(f.Lines), d.size.Height)
			}
			d.frame()
		}
		if got := w.done(); got != "" {
			rt.Fatalf("it did %s", got)
		}
	})
}

func TestTheClusterIsKeptUpToDateByItsEvents(t *testing.T) {
	t.Parallel()
	before := lab()
	after, again := tui.Apply(before,
		event(t, "InstanceStatusUpdated", `{"path":"web","node":"node2","instance_status":{"avail":"up","overall":"up"}}`),
		event(t, "InstanceMonitorUpdated", `{"path":"web","node":"node2","instance_monitor":{"state":"starting"}}`),
		event(t, "ObjectStatusUpdated", `{"path":"web","node":"node1","object_status":{"avail":"warn","overall":"warn"}}`),
		event(t, "InstanceConfigUpdated", `{"path":"new","node":"node1","instance_config":{"orchestrate":"ha"}}`),
		event(t, "InstanceStatusDeleted", `{"path":"prod/svc/db","node":"node2"}`),
		event(t, "ObjectDeleted", `{"path":"prod/cfg/settings","node":"node1"}`),
		event(t, "NodeStatusUpdated", `{"node":"node2","node_status":{"agent":"9"}}`),
		event(t, "NodeMonitorUpdated", `{"node":"node2","node_monitor":{"state":"idle"}}`),
		event(t, "NodeStatsUpdated", `{"node":"node2","node_stats":{"score":3}}`),
		event(t, "ClusterConfigUpdated", `{"node":"node1","cluster_config":{"name":"renamed","nodes":["node1","node2"]}}`),
		event(t, "Exec", `{"path":"web","node":"node1"}`),
	)
	if again {
		t.Error("the state is asked for again")
	}
	web := after.Cluster.Object["web"]
	if web.Avail != cluster.Warn || len(web.Instances) != 2 || web.Instances["node2"].Status.Avail != cluster.Up || web.Instances["node2"].Monitor.State != "starting" {
		t.Errorf("%+v", web)
	}
	if _, there := after.Cluster.Object["prod/svc/db"]; there {
		t.Error("an object without an instance stays")
	}
	if _, there := after.Cluster.Object["prod/cfg/settings"]; there {
		t.Error("a deleted object stays")
	}
	if after.Cluster.Object["new"].Instances["node1"].Config.Orchestrate != "ha" {
		t.Error("a new object is not there")
	}
	if n := after.Cluster.Node["node2"]; n.Status.Agent != "9" || n.Monitor.State != "idle" || n.Stats.Score != 3 {
		t.Errorf("%+v", n)
	}
	if after.Cluster.Config.Name != "renamed" {
		t.Errorf("%+v", after.Cluster.Config)
	}
	for _, e := range []api.Event{event(t, api.Resync, `{}`), event(t, "InstanceStatusUpdated", `{"path":"web"}`), event(t, "NodeStatusUpdated", `[]`)} {
		if _, again := tui.Apply(lab(), e); !again {
			t.Errorf("%s %s: the state is not asked for again", e.Kind, e.Data)
		}
	}
}

// What was given out does not change.
func TestAPictureThatWasGivenOutIsLeftAlone(t *testing.T) {
	t.Parallel()
	before := lab()
	kept := clone(before)
	if _, again := tui.Apply(before, event(t, "InstanceStatusUpdated", `{"path":"web","node":"node2","instance_status":{"avail":"up"}}`)); again {
		t.Error("the state is asked for again")
	}
	if kept.Cluster.Object["web"].Instances["node2"].Status.Avail != cluster.Down {
		t.Error("it changed")
	}
}

// Whatever names there are, what state the objects are in is seen.
func TestALongNameHidesNoState(t *testing.T) {
	t.Parallel()
	status := lab()
	long := status.Cluster.Object["web"]
	status.Cluster.Object["team-of-a-very-long-name/svc/one-of-its-services-名前-001"] = long
	for _, width := range []int{40, 60, 80, 200} {
		d := drive(t, &world{status: status}, tui.Options{Context: "lab"})
		d.size.Width = width
		d.tell(d.size)
		d.tell(tui.Live(at()))
		d.tell(tui.News(status, nil, at()))
		for line := range strings.Lines(d.frame()) {
			if (strings.Contains(line, "web ") || strings.Contains(line, "-001")) && !strings.Contains(line, "up!*") {
				t.Errorf("%d columns: %s", width, line)
			}
		}
		if !strings.Contains(d.frame(), "-001") {
			t.Errorf("%d columns: the end of the name is not told:\n%s", width, d.frame())
		}
	}
}
