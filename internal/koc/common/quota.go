package common

import (
	"cmp"
	"context"
	"net/url"
	"reflect"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-ops/holdfast/internal/koc/cloud"
	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// quota is one limit of a project.
type quota struct {
	service string
	attr    string // in the API of the service
	flag    string // of quota set, and the name under which quota show shows it
	listed  string // its column in quota list, "" for none
	long    string // what upstream's SDK calls it, where that differs
	koc     bool
	// typed quotas also exist for each volume type: gigabytes_<type>.
	typed bool
}

func quotas() []quota {
	return []quota{
		{service: "compute", attr: "cores", flag: "cores", listed: "Cores"},
		{service: "compute", attr: "fixed_ips", flag: "fixed-ips", listed: "Fixed IPs"},
		{service: "compute", attr: "injected_files", flag: "injected-files", listed: "Injected Files"},
		{service: "compute", attr: "injected_file_content_bytes", flag: "injected-file-size", listed: "Injected File Content Bytes"},
		{service: "compute", attr: "injected_file_path_bytes", flag: "injected-path-size", listed: "Injected File Path Bytes"},
		{service: "compute", attr: "instances", flag: "instances", listed: "Instances"},
		{service: "compute", attr: "key_pairs", flag: "key-pairs", listed: "Key Pairs"},
		{service: "compute", attr: "metadata_items", flag: "properties", listed: "Metadata Items"},
		{service: "compute", attr: "ram", flag: "ram", listed: "Ram"},
		{service: "compute", attr: "server_groups", flag: "server-groups", listed: "Server Groups"},
		{service: "compute", attr: "server_group_members", flag: "server-group-members", listed: "Server Group Members"},
		{service: "volume", attr: "backups", flag: "backups", listed: "Backups"},
		{service: "volume", attr: "backup_gigabytes", flag: "backup-gigabytes", listed: "Backup Gigabytes"},
		{service: "volume", attr: "gigabytes", flag: "gigabytes", listed: "Gigabytes", typed: true},
		{service: "volume", attr: "per_volume_gigabytes", flag: "per-volume-gigabytes", listed: "Per Volume Gigabytes"},
		{service: "volume", attr: "snapshots", flag: "snapshots", listed: "Snapshots", typed: true},
		{service: "volume", attr: "volumes", flag: "volumes", listed: "Volumes", typed: true},
		{service: "volume", attr: "groups", flag: "volume-groups", koc: true},
		{service: "network", attr: "floatingip", flag: "floating-ips", listed: "Floating IPs", long: "floating_ips"},
		{service: "network", attr: "network", flag: "networks", listed: "Networks", long: "networks"},
		{service: "network", attr: "port", flag: "ports", listed: "Ports", long: "ports"},
		{service: "network", attr: "rbac_policy", flag: "rbac-policies", listed: "RBAC Policies", long: "rbac_policies"},
		{service: "network", attr: "router", flag: "routers", listed: "Routers", long: "routers"},
		{service: "network", attr: "security_group", flag: "secgroups", listed: "Security Groups", long: "security_groups"},
		{service: "network", attr: "security_group_rule", flag: "secgroup-rules", listed: "Security Group Rules", long: "security_group_rules"},
		{service: "network", attr: "subnet", flag: "subnets", listed: "Subnets", long: "subnets"},
		{service: "network", attr: "subnetpool", flag: "subnetpools", listed: "Subnet Pools", long: "subnet_pools"},
		{service: "network", attr: "trunk", flag: "trunks", koc: true, long: "trunk"},
	}
}

// shownAs is the name of a quota in quota show, which differs in two respects
// from its flag for the network service, as it does upstream.
func (q quota) shownAs() string {
	switch {
	case q.service != "network":
		if q.koc {
			return q.attr
		}
		return q.flag
	case q.long == "floating_ips", q.long == "security_groups", q.long == "security_group_rules":
		return q.flag
	default:
		return q.long
	}
}

// quotaPath is where a service keeps the quotas of a project.
func quotaPath(service, project string) string {
	if service == "network" {
		return "/quotas/" + url.PathEscape(project)
	}
	return "/os-quota-sets/" + url.PathEscape(project)
}

// quotasOf reads the quotas of a project: suffix is "", "/detail" or "/defaults".
// It is nil when the cloud has not the service.
func quotasOf(ctx context.Context, c *command.Call, service, project, suffix string) (noun.Object, error) {
	key := "quota_set"
	if service == "network" {
		key = "quota"
		switch suffix {
		case "/detail":
			suffix = "/details.json"
		case "/defaults":
			suffix = "/default"
		}
	}
	o, err := fetch(ctx, c, service, cloud.Request{Path: quotaPath(service, project) + suffix})
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return o.Object(key), nil
}

func classOf(ctx context.Context, c *command.Call, service, class string) (noun.Object, error) {
	if service == "network" {
		return nil, nil
	}
	o, err := fetch(ctx, c, service, cloud.Request{Path: "/os-quota-class-sets/" + url.PathEscape(class)})
	if absent(err) {
		return nil, nil
	}
	return o.Object("quota_class_set"), err
}

// owner is the project that a command is about: the one named, else that of the
// token.
func owner(ctx context.Context, c *command.Call, ref string) (id, name string, err error) {
	if ref == "" {
		token, err := c.Cloud.Token(ctx)
		if err == nil && token.ProjectID == "" {
			err = command.Reject("the token has no project: name one")
		}
		return token.ProjectID, token.ProjectName, err
	}
	o, err := noun.Project().Find(ctx, c, ref, nil)
	return o.Text("id"), o.Text("name"), err
}

func serviceFlags(verb string) []command.Flag {
	return []command.Flag{
		{Name: "compute", Help: verb + " the quotas of the compute service"},
		{Name: "volume", Help: verb + " the quotas of the block storage service"},
		{Name: "network", Help: verb + " the quotas of the network service"},
	}
}

func quotaShow() command.Command {
	flags := []command.Flag{
		{Name: "class", Help: "Show the quotas of a class instead of a project"},
		{Name: "default", Help: "Show what projects have by default"},
	}
	for _, f := range append(serviceFlags("Show only"), command.Flag{Name: "all", Help: "Show the quotas of all services (the default)"}) {
		f.Koc = true
		flags = append(flags, f)
	}
	return command.Command{
		Short:     "Show the quotas of a project or a class",
		Args:      []command.Arg{{Name: "<project/class>", Optional: true, Help: "The project, by name or id, or the class; your own project when left out", Complete: "project"}},
		Flags:     flags,
		Exclusive: []string{"class default", "compute volume network all"},
		Output:    command.Shown,
		Run:       runQuotaShow,
	}
}

func runQuotaShow(ctx context.Context, c *command.Call) error {
	ref := c.Text("<project/class>")
	id, name := ref, ""
	if c.Is("class") && ref == "" {
		return command.Reject("name the class whose quotas to show")
	}
	if !c.Is("class") {
		var err error
		if id, name, err = owner(ctx, c, ref); err != nil {
			return err
		}
	} else if o, err := noun.Project().Find(ctx, c, ref, nil); err == nil {
		name = o.Text("name")
	}
	values := map[string]any{}
	for _, service := range []string{"compute", "volume", "network"} {
		if one := c.Is("compute") || c.Is("volume") || c.Is("network"); one && !c.Is(service) {
			continue
		}
		var o noun.Object
		var err error
		switch {
		case c.Is("class"):
			o, err = classOf(ctx, c, service, id)
		case c.Is("default"):
			o, err = quotasOf(ctx, c, service, id, "/defaults")
		default:
			o, err = quotasOf(ctx, c, service, id, "")
		}
		if err != nil {
			return err
		}
		if err := addQuotas(ctx, c, values, service, o); err != nil {
			return err
		}
	}
	if values["project"] != nil || !c.Compat() {
		values["project"], values["project_name"] = id, name
		if name == "" {
			values["project_name"] = nil
		}
	}
	fields := make([]render.Field, 0, len(values))
	for name, v := range values {
		fields = append(fields, render.Field{Name: name, Value: v})
	}
	slices.SortFunc(fields, func(a, b render.Field) int { return cmp.Compare(a.Name, b.Name) })
	return c.Show(fields)
}

// addQuotas puts the quotas of a service under the names they are shown with. What
// both compute and network tell of, addresses and security groups, is network's.
func addQuotas(ctx context.Context, c *command.Call, values map[string]any, service string, o noun.Object) error {
	if o == nil {
		return nil
	}
	names := map[string]string{"id": "project", "floating_ips": "floating-ips", "security_groups": "secgroups", "security_group_rules": "secgroup-rules"}
	for _, q := range quotas() {
		if q.service == service {
			names[q.attr] = q.shownAs()
		}
	}
	for _, f := range o {
		name := cmp.Or(names[f.Name], f.Name)
		if f.Name == "project_id" || f.Name == "tenant_id" || service == "network" && f.Name == "trunk" && c.Compat() {
			continue
		}
		values[name] = f.Value
	}
	if service == "network" && c.Compat() {
		location, err := noun.Location(ctx, c)
		if err != nil {
			return err
		}
		values["location"] = location
		if values["project"] == nil {
			values["project"] = ""
		}
	}
	return nil
}

func quotaList() command.Command {
	return command.Command{
		Short: "List the projects whose quotas are not the default ones, or the use of the quotas of one project",
		Flags: append([]command.Flag{
			{Name: "project", Value: "<project>", Help: "List the quotas of this project, by name or id", Complete: "project"},
			{Name: "detail", Help: "Show what is used and reserved of each quota of one project"},
		}, serviceFlags("List")...),
		Exclusive: []string{"!compute volume network"},
		Output:    command.Listed,
		Run: func(ctx context.Context, c *command.Call) error {
			service := "network"
			switch {
			case c.Is("compute"):
				service = "compute"
			case c.Is("volume"):
				service = "volume"
			}
			if c.Is("detail") && service != "volume" {
				return quotaDetail(ctx, c, service)
			}
			if c.Is("detail") {
				c.Notef("the block storage service tells no details of its quotas\n")
			}
			return quotaDiffering(ctx, c, service)
		},
	}
}

func quotaDetail(ctx context.Context, c *command.Call, service string) error {
	id, _, err := owner(ctx, c, c.Text("project"))
	if err != nil {
		return err
	}
	o, err := quotasOf(ctx, c, service, id, "/detail")
	if err != nil {
		return err
	}
	long := map[string]string{}
	for _, q := range quotas() {
		if q.service == service {
			long[q.attr] = q.long
		}
	}
	var rows [][]any
	for _, f := range o {
		detail, ok := f.Value.(render.Ordered)
		if !ok || f.Name == "trunk" && c.Compat() {
			continue
		}
		d := noun.Object(detail)
		used, known := d.Lookup("in_use")
		if !known {
			used = d.Get("used")
		}
		rows = append(rows, []any{cmp.Or(long[f.Name], f.Name), used, d.Get("reserved"), d.Get("limit")})
	}
	if service == "network" {
		order := []string{
			"floating_ips", "networks", "ports", "rbac_policies", "routers", "subnets", "subnet_pools", "security_group_rules", "security_groups", "trunk",
		}
		slices.SortFunc(rows, func(a, b []any) int {
			return cmp.Compare(slices.Index(order, noun.Text(a[0])), slices.Index(order, noun.Text(b[0])))
		})
	}
	return c.List([]render.Column{{Title: "Resource"}, {Title: "In Use"}, {Title: "Reserved"}, {Title: "Limit"}}, render.Rows(rows))
}

// quotaDiffering lists the projects whose quotas differ from the defaults.
func quotaDiffering(ctx context.Context, c *command.Call, service string) error {
	var projects []string
	if ref := c.Text("project"); ref != "" {
		id, err := noun.Project().Resolve(ctx, c, ref)
		if err != nil {
			return err
		}
		projects = []string{id}
	} else {
		for o, err := range noun.Project().All(ctx, c, nil) {
			if err != nil {
				return err
			}
			projects = append(projects, o.Text("id"))
		}
	}
	columns := []render.Column{{Title: "Project ID"}}
	var attrs []string
	for _, q := range quotas() {
		if q.service == service && q.listed != "" {
			columns = append(columns, render.Column{Title: q.listed})
			attrs = append(attrs, q.attr)
		}
	}
	rows := make([][]any, len(projects))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(8)
	for i, id := range projects {
		group.Go(func() error {
			own, err := quotasOf(ctx, c, service, id, "")
			if noun.IsNotFound(err) {
				c.Notef("quotas of project %s not found: %v\n", id, err)
				return nil
			}
			if err != nil {
				return err
			}
			usual, err := quotasOf(ctx, c, service, id, "/defaults")
			if err != nil {
				return err
			}
			if row := pick(id, attrs, own); !reflect.DeepEqual(row, pick(id, attrs, usual)) {
				rows[i] = row
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return c.List(columns, render.Rows(slices.DeleteFunc(rows, func(row []any) bool { return row == nil })))
}

func pick(id string, attrs []string, o noun.Object) []any {
	row := []any{id}
	for _, attr := range attrs {
		v, ok := o.Lookup(attr)
		if !ok {
			v = ""
		}
		row = append(row, v)
	}
	return row
}

func quotaSet() command.Command {
	flags := []command.Flag{{Name: "class", Help: "Set the quotas of a class instead of a project"}}
	for _, q := range quotas() {
		flags = append(flags, command.Flag{Name: q.flag, Value: "<" + q.flag + ">", Type: command.Int, Koc: q.koc, Help: "New value of the quota of " + q.flag + "; -1 is no limit"})
	}
	return command.Command{
		Short: "Set quotas of a project or a class",
		Args:  []command.Arg{{Name: "<project/class>", Optional: true, Help: "The project, by name or id, or the class; your own project when left out", Complete: "project"}},
		Flags: append(flags,
			command.Flag{Name: "volume-type", Value: "<volume-type>", Help: "Set gigabytes, snapshots and volumes for volumes of this type alone", Complete: "volume type"},
			command.Flag{Name: "force", Help: "Set quotas below what is used already; compute and network only"},
			command.Flag{Name: "check-limit", Help: "Refuse quotas below what is used already; network only"},
		),
		Run: runQuotaSet,
	}
}

func runQuotaSet(ctx context.Context, c *command.Call) error {
	changes := map[string]noun.Object{}
	put := func(service, attr string, v any) {
		o := changes[service]
		o.Set(attr, v)
		changes[service] = o
	}
	typ := c.Text("volume-type")
	for _, q := range quotas() {
		if !c.Given(q.flag) {
			continue
		}
		attr := q.attr
		if q.typed && typ != "" {
			attr += "_" + typ
		}
		put(q.service, attr, c.Int(q.flag))
	}
	if c.Is("class") && c.Text("<project/class>") == "" {
		return command.Reject("name the class whose quotas to set")
	}
	if c.Is("class") && len(changes["network"]) > 0 {
		return command.Reject("the network service has no classes of quotas: leave out --class or the quotas of networks")
	}
	for _, service := range []string{"compute", "network"} {
		if c.Is("force") && len(changes[service]) > 0 {
			put(service, "force", true)
		}
	}
	if c.Is("check-limit") && len(changes["network"]) > 0 {
		put("network", "check_limit", true)
	}
	id := c.Text("<project/class>")
	if !c.Is("class") {
		var err error
		if id, _, err = owner(ctx, c, id); err != nil {
			return err
		}
	}
	for _, service := range []string{"compute", "volume", "network"} {
		body := changes[service]
		if len(body) == 0 {
			continue
		}
		key, path := "quota_set", quotaPath(service, id)
		switch {
		case c.Is("class"):
			key, path = "quota_class_set", "/os-quota-class-sets/"+url.PathEscape(id)
		case service == "network":
			key = "quota"
		}
		r := cloud.Request{Method: "PUT", Path: path, Body: noun.Object{{Name: key, Value: render.Ordered(body)}}}
		if _, err := fetch(ctx, c, service, r); err != nil {
			return err
		}
	}
	return nil
}
