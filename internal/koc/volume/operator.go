package volume

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// clusters have no ids: their names are their places.
func clusters() noun.Noun {
	return noun.Noun{Name: "cluster", Service: "volume", Path: "/clusters", Key: "cluster", Label: "-"}
}

func shownCluster() noun.Fields {
	return noun.Fields{Columns: columns("Name", "name", "Binary", "binary", "State", "state", "Status", "status", "Disabled Reason", "disabled_reason", "Hosts", "num_hosts",
		"Down Hosts", "num_down_hosts", "Last Heartbeat", "last_heartbeat", "Created At", "created_at", "Updated At", "updated_at",
		"Replication Status", "replication_status", "Frozen", "frozen", "Active Backend ID", "active_backend_id")}
}

func clusterCommands() []command.Entry {
	n := clusters()
	return []command.Entry{
		since("3.7", "block storage cluster list", n.List(noun.Listing{
			Short: "List the clusters of the block storage service",
			Filters: []noun.Field{
				noun.String("cluster", "<name>", "name", "Only the cluster of this name"),
				noun.String("binary", "<binary>", "binary", "Only clusters of this kind of service, as cinder-volume"),
				noun.On("up", "is_up", "True", "Only clusters that are up"),
				noun.On("down", "is_up", "False", "Only clusters that are down"),
				noun.On("disabled", "disabled", "True", "Only clusters that are disabled"),
				noun.On("enabled", "disabled", "False", "Only clusters that are enabled"),
				noun.Number("num-hosts", "<hosts>", "num_hosts", "Only clusters of this many hosts"),
				noun.Number("num-down-hosts", "<hosts>", "num_down_hosts", "Only clusters of which this many hosts are down"),
			},
			Query: func(_ context.Context, c *command.Call, q url.Values) error {
				if flag := last(c, "up", "down"); flag != "" {
					q.Set("is_up", map[bool]string{true: "True", false: "False"}[flag == "up"])
				}
				if flag := last(c, "disabled", "enabled"); flag != "" {
					q.Set("disabled", map[bool]string{true: "True", false: "False"}[flag == "disabled"])
				}
				return nil
			},
			Path: func(_ context.Context, c *command.Call) (string, error) {
				if c.Is("long") {
					return "/clusters/detail", nil
				}
				return "/clusters", nil
			},
			Columns: append(columns("Name", "name", "Binary", "binary", "State", "state", "Status", "status"),
				long("Num Hosts", "num_hosts", "Num Down Hosts", "num_down_hosts", "Last Heartbeat", "last_heartbeat",
					"Disabled Reason", "disabled_reason", "Created At", "created_at", "Updated At", "updated_at")...),
		})),
		since("3.7", "block storage cluster set", func() command.Command {
			return command.Command{
				Short: "Enable or disable a cluster of the block storage service",
				Args:  []command.Arg{{Name: "<cluster>", Help: "Name of the cluster"}},
				Flags: []command.Flag{
					{Name: "binary", Value: "<binary>", Default: "cinder-volume", Help: "Kind of service of the cluster (default cinder-volume)"},
					{Name: "enable", Help: "Enable the cluster"},
					{Name: "disable", Help: "Disable the cluster: the scheduler does not use it"},
					{Name: "disable-reason", Value: "<reason>", Help: "Say why the cluster is disabled"},
				},
				Exclusive: []string{"enable disable"},
				Run: func(ctx context.Context, c *command.Call) error {
					switch {
					case c.Given("disable-reason") && !c.Is("disable"):
						return wrong(c, "--disable-reason needs --disable")
					case !c.Is("enable") && !c.Is("disable"):
						return wrong(c, "give --enable or --disable")
					}
					body := noun.Object{{Name: "name", Value: c.Text("<cluster>")}, {Name: "binary", Value: c.Text("binary")}}
					verb := "enable"
					if c.Is("disable") {
						verb = "disable"
						if c.Given("disable-reason") {
							body.Set("disabled_reason", c.Text("disable-reason"))
						}
					}
					return n.Do(ctx, c, cloud.Request{Method: "PUT", Path: "/clusters/" + verb, Body: body})
				},
			}
		}),
		since("3.7", "block storage cluster show", func() command.Command {
			return command.Command{
				Short:  "Show a cluster of the block storage service",
				Args:   []command.Arg{{Name: "<cluster>", Help: "Name of the cluster"}},
				Flags:  []command.Flag{{Name: "binary", Value: "<binary>", Help: "Kind of service of the cluster, as cinder-volume"}},
				Output: command.Shown,
				Run: func(ctx context.Context, c *command.Call) error {
					r := cloud.Request{Path: "/clusters/" + escape(c.Text("<cluster>"))}
					if c.Given("binary") {
						r.Query = url.Values{"binary": {c.Text("binary")}}
					}
					o, err := n.Send(ctx, c, r)
					if err != nil {
						return err
					}
					return c.Show(shownCluster().Fields(c, o))
				},
			}
		}),
	}
}

func operatorCommands() []command.Entry {
	filters := noun.Noun{Name: "resource filter", Service: "volume", Path: "/resource_filters", Key: "resource_filter"}
	return []command.Entry{
		since("3.24", "block storage cleanup", cleanup),
		since("3.32", "block storage log level list", listLogLevels),
		since("3.32", "block storage log level set", setLogLevels),
		since("3.33", "block storage resource filter list", filters.List(noun.Listing{
			Short: "List by what lists of the block storage service can be narrowed",
			Columns: []noun.Column{
				{Title: "Resource", Attr: "resource"},
				{Title: "Filters", Attr: "filters", Compat: true},
				{Title: "Filters", Attr: "filters", Cell: list, Own: true},
			},
		})),
		since("3.33", "block storage resource filter show", func() command.Command {
			return command.Command{
				Short:  "Show by what lists of one kind of things can be narrowed",
				Args:   []command.Arg{{Name: "<resource>", Help: "Kind of things, as volume"}},
				Output: command.Shown,
				Run: func(ctx context.Context, c *command.Call) error {
					for o, err := range filters.All(ctx, c, url.Values{"resource": {c.Text("<resource>")}}) {
						if err != nil {
							return err
						}
						fields := noun.Fields{Rest: true, Sort: true}
						if !c.Compat() {
							fields.Columns = []noun.Column{{Title: "filters", Cell: list}}
						}
						return c.Show(fields.Fields(c, o))
					}
					return &noun.NotFound{Noun: filters.Name, Ref: c.Text("<resource>")}
				},
			}
		}),
	}
}

func serviceFlags() []command.Flag {
	return []command.Flag{
		{Name: "host", Value: "<host>", Help: "Only the services on this host, as host or host@backend"},
		{Name: "service", Value: "<service>", Choices: []string{"", "*", "cinder-api", "cinder-volume", "cinder-scheduler", "cinder-backup"}, Help: "Only services of this kind"},
		{Name: "log-prefix", Value: "<log-prefix>", Help: "Only the parts of the program below this name, as cinder.volume"},
	}
}

func levelBody(c *command.Call) noun.Object {
	return noun.Object{{Name: "binary", Value: c.Text("service")}, {Name: "server", Value: c.Text("host")}, {Name: "prefix", Value: c.Text("log-prefix")}}
}

func listLogLevels() command.Command {
	return command.Command{
		Short: "List how much the services of the block storage service log",
		Flags: serviceFlags(), Output: command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			n := noun.Noun{Service: "volume", Key: "-"}
			answer, err := n.Send(ctx, c, cloud.Request{Method: "PUT", Path: "/os-services/get-log", Body: levelBody(c)})
			if err != nil {
				return err
			}
			var rows []noun.Object
			for _, of := range answer.Objects("log_levels") {
				levels := slices.SortedFunc(slices.Values(of.Object("levels")), func(a, b render.Field) int { return cmp.Compare(a.Name, b.Name) })
				for _, level := range levels {
					rows = append(rows, noun.Object{
						{Name: "binary", Value: of.Get("binary")},
						{Name: "host", Value: of.Get("host")},
						{Name: "prefix", Value: level.Name},
						{Name: "level", Value: level.Value},
					})
				}
			}
			return noun.PrintList(c, columns("Binary", "binary", "Host", "host", "Prefix", "prefix", "Level", "level"), noun.Each(rows))
		},
	}
}

func setLogLevels() command.Command {
	return command.Command{
		Short: "Say how much the services of the block storage service log",
		Args:  []command.Arg{{Name: "<log-level>", Help: "INFO, WARNING, ERROR or DEBUG", Choices: []string{"INFO", "WARNING", "ERROR", "DEBUG", "info", "warning", "error", "debug"}}},
		Flags: serviceFlags(),
		Run: func(ctx context.Context, c *command.Call) error {
			body := levelBody(c)
			body.Set("level", strings.ToUpper(c.Text("<log-level>")))
			return put(ctx, c, "set-log", body)
		},
	}
}

func cleanup() command.Command {
	return command.Command{
		Short: "Let services take over the work that others left behind",
		Flags: []command.Flag{
			{Name: "cluster", Value: "<cluster>", Help: "Only the work of this cluster"},
			{Name: "host", Value: "<host>", Help: "Only the work of this host, as host@backend"},
			{Name: "binary", Value: "<binary>", Help: "Only the work of this kind of service, as cinder-volume"},
			{Name: "up", Help: "Only the work of services that are up"},
			{Name: "down", Help: "Only the work of services that are down, as is the default"},
			{Name: "disabled", Help: "Only the work of services that are disabled"},
			{Name: "enabled", Help: "Only the work of services that are enabled"},
			{Name: "resource-id", Value: "<resource-id>", Help: "Only the work on the thing of this id"},
			{Name: "resource-type", Value: "<Volume|Snapshot>", Choices: []string{"Volume", "Snapshot"}, Help: "Only the work on things of this type"},
			{Name: "service-id", Value: "<service-id>", Type: command.Int, Help: "Only the work of the service of this id"},
		},
		Exclusive: []string{"up down", "disabled enabled"},
		Output:    command.Listed, NoWatch: true,
		Run: func(ctx context.Context, c *command.Call) error {
			body := noun.Object{}
			for _, p := range [][2]string{{"cluster", "cluster_name"}, {"host", "host"}, {"binary", "binary"}, {"resource-id", "resource_id"}, {"resource-type", "resource_type"}} {
				if c.Given(p[0]) {
					body.Set(p[1], c.Text(p[0]))
				}
			}
			if c.Given("service-id") {
				body.Set("service_id", c.Int("service-id"))
			}
			if c.Is("up") || c.Is("down") {
				body.Set("is_up", c.Is("up"))
			}
			if c.Is("disabled") || c.Is("enabled") {
				body.Set("disabled", c.Is("disabled"))
			}
			n := noun.Noun{Service: "volume", Key: "-"}
			answer, err := n.Send(ctx, c, cloud.Request{Method: "POST", Path: "/workers/cleanup", Body: body})
			if err != nil {
				return err
			}
			var rows []noun.Object
			for _, p := range [][2]string{{"cleaning", "Cleaning"}, {"unavailable", "Unavailable"}} {
				for _, o := range answer.Objects(p[0]) {
					o.Set("status", p[1])
					rows = append(rows, o)
				}
			}
			return noun.PrintList(c, columns("ID", "id", "Cluster Name", "cluster_name", "Host", "host", "Binary", "binary", "Status", "status"), noun.Each(rows))
		},
	}
}

func manageableCommands() []command.Entry {
	entry := func(name, things, path, keys string, extra ...string) command.Entry {
		n := noun.Noun{Name: things, Service: "volume", Path: path, Key: keys, Keys: keys}
		return since("3.8", name, n.List(noun.Listing{
			Short: "List the " + things + " of a backend that can be taken over",
			Args:  []command.Arg{{Name: "<host>", Help: "The pool, as host@backend#pool", Optional: true}},
			Filters: []noun.Field{
				noun.String("cluster", "<cluster>", "cluster", "The pool, as cluster@backend#pool, instead of <host> (needs 3.17)"),
				noun.Number("offset", "<offset>", "offset", "Leave out this many at the begin"),
				noun.String("sort", "<key>[:<direction>]", "sort", "Order by size or reference, asc or desc"),
			},
			Flags: []command.Flag{{Name: "detailed", Value: "<detailed>", Hidden: true, Help: "The same as --long"}},
			Paged: true,
			Query: func(ctx context.Context, c *command.Call, q url.Values) error {
				if c.Given("<host>") == c.Given("cluster") {
					return command.Reject("give a host or --cluster")
				}
				if c.Given("<host>") {
					q.Set("host", c.Text("<host>"))
				}
				return guard(ctx, c, "3.17", "cluster")
			},
			Path: func(_ context.Context, c *command.Call) (string, error) {
				if c.Is("long") || strings.EqualFold(c.Text("detailed"), "true") {
					return path + "/detail", nil
				}
				return path, nil
			},
			Columns: append(columns(append([]string{"reference", "reference", "size", "size", "safe_to_manage", "safe_to_manage"}, extra...)...),
				long("reason_not_safe", "reason_not_safe", "cinder_id", "cinder_id", "extra_info", "extra_info")...),
		}))
	}
	return []command.Entry{
		entry("block storage snapshot manageable list", "snapshots", "/manageable_snapshots", "manageable-snapshots", "source_reference", "source_reference"),
		entry("block storage volume manageable list", "volumes", "/manageable_volumes", "manageable-volumes"),
	}
}
