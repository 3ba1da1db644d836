package compute

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-ops/holdfast/internal/koc/command"
	"github.com/holdfast-ops/holdfast/internal/koc/noun"
	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

func serverList() command.Command {
	flags := []command.Flag{
		{Name: "reservation-id", Value: "<reservation-id>", Help: "Only servers that were created together, by the id of their reservation"},
		{Name: "ip", Value: "<ip-address-regex>", Help: "Only servers with an address of IPv4 that matches"},
		{Name: "ip6", Value: "<ip-address-regex>", Help: "Only servers with an address of IPv6 that matches"},
		{Name: "name", Value: "<name-regex>", Help: "Only servers whose name matches the expression"},
		{Name: "instance-name", Value: "<server-name>", Help: "Only servers whose name on the hypervisor matches (admin only)"},
		{Name: "status", Value: "<status>", Fold: true, Choices: serverStatuses(), Help: "Only servers of this status"},
		{Name: "flavor", Value: "<flavor>", Help: "Only servers of this flavor, by name or id", Complete: "flavor"},
		{Name: "image", Value: "<image>", Help: "Only servers made from this image, by name or id", Complete: "image"},
		{Name: "host", Value: "<hostname>", Help: "Only servers on this host (admin only)"},
		{Name: "all-projects", Also: []string{"all"}, Help: "List the servers of all projects (admin only; also by the environment, as ALL_PROJECTS)"},
		{Name: "project", Value: "<project>", Help: "Only servers of this project, by name or id (admin only)", Complete: "project"},
		noun.ProjectDomainFlag(),
		{Name: "user", Value: "<user>", Help: "Only servers of this user, by name or id (admin only before microversion 2.83)", Complete: "user"},
		{Name: "user-domain", Value: "<user-domain>", Help: "Domain of the user, by name or id, when its name is not unique", Complete: "domain"},
		{Name: "deleted", Help: "Only servers that are deleted (admin only)"},
		{Name: "availability-zone", Value: "<availability-zone>", Help: "Only servers of this availability zone (admin only before microversion 2.83)"},
		{Name: "key-name", Value: "<key-name>", Help: "Only servers with this keypair (admin only before microversion 2.83)"},
		{Name: "config-drive", Help: "Only servers with a config drive (admin only before microversion 2.83)"},
		{Name: "no-config-drive", Help: "Only servers without a config drive (admin only before microversion 2.83)"},
		{Name: "progress", Value: "<progress>", Type: command.Int, Help: "Only servers whose progress is this many percent (admin only before microversion 2.83)"},
		{Name: "vm-state", Value: "<state>", Choices: strings.Fields(vmStates), Help: "Only servers whose state in the service is this (admin only before microversion 2.83)"},
		{Name: "task-state", Value: "<state>", Choices: strings.Fields(taskStates), Help: "Only servers that this is done to (admin only before microversion 2.83)"},
		{Name: "power-state", Value: "<state>", Choices: strings.Fields(powerStates), Help: "Only servers whose power is in this state (admin only before microversion 2.83)"},
		{Name: "long", Help: "Show more columns"},
		{Name: "no-name-lookup", Short: "n", Help: "Show the ids of flavors and images, without looking their names up"},
		{Name: "name-lookup-one-by-one", Help: "Look the names of flavors and images up one by one, instead of listing all there are"},
		{Name: "marker", Value: "<server>", Help: "Begin after this server, by name or id; with --deleted by id"},
		{Name: "limit", Value: "<num-servers>", Type: command.Int, Help: "Stop after this many, all pages taken together; -1 is no limit"},
		{Name: "changes-before", Value: "<changes-before>", Help: "Only servers that changed until this moment, as 2016-03-05T06:27:59Z (microversion 2.66)"},
		{Name: "changes-since", Value: "<changes-since>", Help: "Only servers that changed since this moment, as 2016-03-04T06:27:59Z"},
		{Name: "created-before", Value: "<moment>", Koc: true, Help: "Only servers created until this moment (KeyStack)"},
		{Name: "created-since", Value: "<moment>", Koc: true, Help: "Only servers created since this moment (KeyStack)"},
		{Name: "deleted-before", Value: "<moment>", Koc: true, Help: "Only servers deleted until this moment (KeyStack)"},
		{Name: "deleted-since", Value: "<moment>", Koc: true, Help: "Only servers deleted since this moment (KeyStack)"},
		{Name: "locked", Help: "Only servers that are locked (microversion 2.73)"},
		{Name: "unlocked", Help: "Only servers that are not locked (microversion 2.73)"},
		{Name: "tags", Value: "<tag>", Repeat: true, Help: "Only servers with this tag; repeat for servers with all of them (microversion 2.26)"},
		{Name: "not-tags", Value: "<tag>", Repeat: true, Help: "Only servers without this tag; repeat to leave out those with all of them (microversion 2.26)"},
	}
	return command.Command{
		Short:     "List servers",
		Output:    command.Listed,
		Flags:     flags,
		Exclusive: []string{"config-drive no-config-drive", "no-name-lookup name-lookup-one-by-one", "locked unlocked"},
		OptIn: []string{
			"Created At", "Image ID", "Flavor ID", "Availability Zone", "Host", "Task State", "Power State", "Project ID", "User ID",
			"Security Groups", "Properties",
		},
		Columns: func(long bool) []string {
			if long {
				return []string{"ID", "Name", "Status", "Networks", "Image Name", "Flavor"}
			}
			return []string{"ID", "Name", "Status", "Networks", "Flavor"}
		},
		Run: listServers,
	}
}

func serverStatuses() []string {
	return strings.Fields("ACTIVE BUILD DELETED ERROR HARD_REBOOT MIGRATING PASSWORD PAUSED REBOOT REBUILD RESCUE RESIZE " +
		"REVERT_RESIZE SHELVED SHELVED_OFFLOADED SHUTOFF SOFT_DELETED SUSPENDED VERIFY_RESIZE")
}

const (
	vmStates   = "active building deleted error paused stopped suspended rescued resized shelved shelved_offloaded soft-delete"
	taskStates = "block_device_mapping deleting image_backup image_pending_upload image_snapshot image_snapshot_pending " +
		"image_uploading migrating networking pausing powering-off powering-on rebooting reboot_pending reboot_started " +
		"reboot_pending_hard reboot_started_hard rebooting_hard rebuilding rebuild_block_device_mapping rebuild_spawning " +
		"rescuing resize_confirming resize_finish resize_migrated resize_migrating resize_prep resize_reverting restoring " +
		"resuming scheduling shelving shelving_image_pending_upload shelving_image_uploading shelving_offloading soft-deleting " +
		"spawning suspending updating_password unpausing unrescuing unshelving"
	powerStates = "pending running paused shutdown crashed suspended"
)

// serverListing is one run of server list.
type serverListing struct {
	*servers
	long, noLookup  bool
	images, flavors func(id string) (name string, ok bool)
}

func listServers(ctx context.Context, c *command.Call) error {
	s, err := openServers(ctx, c, "")
	if err != nil {
		return err
	}
	if !c.Compat() {
		s.Service = s.Default("2.1") // the lowest that answers: what the columns show it tells
	}
	if err := s.serverFilterVersions(); err != nil {
		return err
	}
	q, err := s.serverQuery(ctx)
	if err != nil {
		return err
	}
	l := &serverListing{servers: s, long: c.Is("long"), noLookup: c.Is("no-name-lookup")}
	return l.print(ctx, q)
}

// serverFilterVersions makes sure of what the filters need.
func (s *servers) serverFilterVersions() error {
	for _, f := range []struct{ version, flag string }{
		{"2.26", "tags"},
		{"2.26", "not-tags"},
		{"2.66", "changes-before"},
		{"2.66", "created-before"},
		{"2.66", "created-since"},
		{"2.66", "deleted-before"},
		{"2.66", "deleted-since"},
		{"2.73", "locked"},
		{"2.73", "unlocked"},
	} {
		if err := s.needsGiven(f.version, f.flag); err != nil {
			return err
		}
	}
	for _, flag := range []string{"changes-before", "changes-since", "created-before", "created-since", "deleted-before", "deleted-since"} {
		if text := s.c.Text(flag); text != "" {
			if _, ok := moment(text); !ok {
				return command.Reject("invalid --%s value %q: give a moment as 2016-03-04T06:27:59Z", flag, text)
			}
		}
	}
	if s.c.Given("progress") && (s.c.Int("progress") < 1 || s.c.Int("progress") > 100) {
		return command.Reject("--progress %s: must be between 1 and 100", s.c.Text("progress"))
	}
	if s.c.Compat() {
		return nil
	}
	// Before 2.83 the service leaves these out of account, unless it is asked by an
	// administrator.
	for flag := range strings.FieldsSeq("user availability-zone key-name config-drive no-config-drive progress vm-state task-state power-state") {
		if s.c.Given(flag) && !s.Pinned() {
			return s.needs("2.83", "--"+flag)
		}
	}
	return nil
}

// moment reads a moment as ISO 8601 writes it.
func moment(text string) (time.Time, bool) {
	text = strings.Replace(strings.ToUpper(strings.TrimSpace(text)), " ", "T", 1)
	for _, layout := range [...]string{
		"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999Z0700", "2006-01-02T15:04:05.999999999Z07", "2006-01-02T15:04:05.999999999",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02T15", "2006-01-02", "2006-01", "2006", "20060102T150405Z", "20060102T150405", "20060102",
	} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// serverQuery is the query of the filters.
func (s *servers) serverQuery(ctx context.Context) (url.Values, error) {
	c, q := s.c, url.Values{}
	for f := range strings.FieldsSeq("reservation-id:reservation_id ip ip6 name instance-name:instance_name status host availability-zone:availability_zone " +
		"key-name:key_name progress vm-state:vm_state task-state:task_state changes-before changes-since created-before created-since deleted-before deleted-since") {
		flag, name, renamed := strings.Cut(f, ":")
		if !renamed {
			name = flag
		}
		if text := c.Text(flag); text != "" {
			q.Set(name, text)
		}
	}
	if state := c.Text("power-state"); state != "" {
		numbers := map[string]string{"pending": "0", "running": "1", "paused": "3", "shutdown": "4", "crashed": "6", "suspended": "7"}
		if n := numbers[state]; n != "0" || !c.Compat() { // which the openstack client forgets
			q.Set("power_state", n)
		}
	}
	for flag, name := range map[string]string{"tags": "tags", "not-tags": "not-tags"} {
		if tags := c.Texts(flag); len(tags) > 0 {
			q.Set(name, strings.Join(tags, ","))
		}
	}
	for _, f := range [...][3]string{
		{"config-drive", "config_drive", "True"},
		{"no-config-drive", "config_drive", "False"},
		{"locked", "locked", "True"},
		{"unlocked", "locked", "False"},
		{"deleted", "deleted", "True"},
	} {
		if c.Is(f[0]) {
			q.Set(f[1], f[2])
		}
	}
	if err := s.serverReferences(ctx, q); err != nil {
		return nil, err
	}
	if everywhere(c) || c.Given("project") || c.Given("user") && !c.Compat() {
		q.Set("all_tenants", "True")
	}
	return q, nil
}

// serverReferences resolves the filters that name something.
func (s *servers) serverReferences(ctx context.Context, q url.Values) error {
	c := s.c
	var marker string
	set := func(name, id string, err error) error {
		if id != "" {
			q.Set(name, id)
		}
		return err
	}
	project, err := noun.ProjectID(ctx, c)
	if err := set("tenant_id", project, err); err != nil {
		return err
	}
	if ref := c.Text("user"); ref != "" {
		id, err := noun.User().In(ctx, c, ref, c.Text("user-domain"))
		if err := set("user_id", id, err); err != nil {
			return err
		}
	}
	if ref := c.Text("flavor"); ref != "" {
		id, err := noun.Flavor().Resolve(ctx, c, ref)
		if err := set("flavor", id, err); err != nil {
			return err
		}
	}
	if ref := c.Text("image"); ref != "" {
		id, err := noun.Image().Resolve(ctx, c, ref)
		if err := set("image", id, err); err != nil {
			return err
		}
	}
	if marker = c.Text("marker"); marker != "" && !c.Is("deleted") {
		if marker, err = s.id(ctx, marker); err != nil {
			return err
		}
	}
	return set("marker", marker, nil)
}

// print lists the servers.
func (l *serverListing) print(ctx context.Context, q url.Values) error {
	limit := max(l.c.Int("limit"), 0)
	keep, needs := l.keeper()
	if limit > 0 && keep == nil {
		q.Set("limit", strconv.Itoa(limit))
	}
	embedded := l.atLeast("2.47")
	columns := l.columns(embedded)
	needed := l.attributes(columns, needs)
	if !l.noLookup {
		if has(needed, "image") && l.wants(columns, "Image", "Image Name") {
			l.images = l.lookup(ctx, "image", "images", l.c.Given("image"))
		}
		if !embedded && has(needed, "flavor") && l.wants(columns, "Flavor", "Flavor Name") {
			l.flavors = l.lookup(ctx, "compute", "flavors", l.c.Given("flavor"))
		}
	}
	path := "/servers/detail"
	if onlyNames(needed) {
		path = "/servers"
	}
	pageLimit := limit
	if keep != nil {
		pageLimit = 0
	}
	objects := noun.Pages(ctx, l.Service, path, q, "servers", pageLimit, needed)
	if keep != nil {
		objects = noun.Kept(objects, limit, keep)
	}
	if l.long && l.atLeast("2.16") {
		var err error
		if objects, columns, err = l.withHostStatus(objects, columns); err != nil {
			return l.explained(err)
		}
	}
	return l.explained(noun.PrintList(l.c, columns, objects))
}

func has(needed noun.Wanted, name string) bool {
	_, ok := needed[name]
	return ok
}

// explained says what a refusal may come from.
func (l *serverListing) explained(err error) error {
	for _, flag := range []string{"created-before", "created-since", "deleted-before", "deleted-since"} {
		if err != nil && l.c.Given(flag) {
			return keystack(err, "created/deleted filters")
		}
	}
	return err
}

// keeper filters by creation once more: a service that does not know the filters
// of KeyStack takes no offence at them, and would list all there are.
func (l *serverListing) keeper() (keep func(noun.Object) bool, needs []string) {
	since, hasSince := moment(l.c.Text("created-since"))
	before, hasBefore := moment(l.c.Text("created-before"))
	if !hasSince && !hasBefore {
		return nil, nil
	}
	return func(o noun.Object) bool {
		created, ok := moment(o.Text("created"))
		return !ok || !(hasSince && created.Before(since)) && !(hasBefore && created.After(before))
	}, []string{"created"}
}

// attributes says which attributes of a server the run looks at.
func (l *serverListing) attributes(columns []noun.Column, also []string) noun.Wanted {
	inner := map[string]noun.Wanted{
		"addresses":       {"*": {"addr": nil}},
		"flavor":          {"id": nil, "original_name": nil},
		"image":           {"id": nil},
		"security_groups": {"name": nil},
	}
	needed := noun.Wanted{}
	for _, name := range also {
		needed[name] = nil
	}
	for _, col := range columns {
		if !l.c.Output.Wants(render.Column{Title: col.Title, Hidden: col.OptIn}) {
			continue
		}
		for _, name := range append([]string{col.Attr}, col.Needs...) {
			needed[name] = inner[name]
		}
	}
	if l.long && l.atLeast("2.16") {
		needed["host_status"] = nil
	}
	delete(needed, "")
	return needed
}

// onlyNames reports whether the short listing tells enough.
func onlyNames(needed noun.Wanted) bool {
	for name := range needed {
		if name != "id" && name != "name" {
			return false
		}
	}
	return true
}

// wants reports whether a column of one of the titles is shown.
func (l *serverListing) wants(columns []noun.Column, titles ...string) bool {
	for _, col := range columns {
		for _, title := range titles {
			if col.Title == title && l.c.Output.Wants(render.Column{Title: title, Hidden: col.OptIn}) {
				return true
			}
		}
	}
	return false
}

// columns are those of the voice, of --long and of the microversion.
func (l *serverListing) columns(embedded bool) []noun.Column {
	cols := []noun.Column{{Title: "ID", Attr: "id"}, {Title: "Name", Attr: "name"}, {Title: "Status", Attr: "status"}}
	task := l.plain("Task State", "OS-EXT-STS:task_state")
	power := noun.Column{Title: "Power State", Needs: []string{"OS-EXT-STS:power_state"}, From: func(o noun.Object) any {
		return powerCell(l.absent(o, "OS-EXT-STS:power_state"))
	}}
	networks := noun.Column{Title: "Networks", Attr: "addresses", Cell: func(v any) any { return networksCell(l.c, v) }}
	imageName := noun.Column{Title: "Image Name", Needs: []string{"image"}, From: l.imageName}
	imageID := noun.Column{Title: "Image ID", Needs: []string{"image"}, From: l.imageID}
	flavorName := noun.Column{Title: "Flavor", Needs: []string{"flavor"}, From: l.flavorName}
	flavorID := noun.Column{Title: "Flavor ID", Needs: []string{"flavor"}, From: func(o noun.Object) any { return l.absent(o, "flavor.id") }}
	zone := l.plain("Availability Zone", "OS-EXT-AZ:availability_zone")
	host := l.plain("Host", "OS-EXT-SRV-ATTR:host")
	properties := noun.Column{Title: "Properties", Attr: "metadata", Cell: func(v any) any { return render.DictCell(v) }}
	switch {
	case l.long:
		cols = append(cols, task, power, networks, imageName, imageID)
		if embedded {
			cols = append(cols, flavorName)
		} else {
			flavorName.Title = "Flavor Name"
			cols = append(cols, flavorName, flavorID)
		}
		cols = append(cols, zone, host, properties)
	case l.c.Compat():
		image := imageName
		image.Title = "Image"
		if l.noLookup {
			image.From = l.imageID
		}
		cols = append(cols, networks, image, flavorName)
	default:
		cols = append(cols, networks, flavorName)
	}
	if l.c.Compat() {
		properties.Cell = nil // a column that is asked for is not formatted
	}
	optional := []noun.Column{
		l.plain("Created At", "created"), imageID, flavorID, zone, host, task, power, l.plain("Project ID", "tenant_id"), l.plain("User ID", "user_id"),
		{Title: "Security Groups", Attr: "security_groups", Cell: groupNames},
		properties,
	}
	for _, col := range optional {
		if !hasTitle(cols, col.Title) {
			col.OptIn = true
			cols = append(cols, col)
		}
	}
	return cols
}

func hasTitle(columns []noun.Column, title string) bool {
	for _, col := range columns {
		if col.Title == title {
			return true
		}
	}
	return false
}

// plain is a column of an attribute that the service may not tell.
func (l *serverListing) plain(title, attr string) noun.Column {
	return noun.Column{Title: title, Needs: []string{attr}, From: func(o noun.Object) any { return l.absent(o, attr) }}
}

// absent is an attribute; one that is not there is "" for the openstack client.
func (l *serverListing) absent(o noun.Object, attr string) any {
	v, ok := o.Lookup(attr)
	if !ok && l.c.Compat() {
		return ""
	}
	return v
}

func (l *serverListing) imageID(o noun.Object) any {
	v, ok := o.Lookup("image")
	if !ok {
		return l.absent(o, "image")
	}
	if inner, is := v.(render.Ordered); is {
		return noun.Object(inner).Get("id")
	}
	return bootedFromVolume
}

func (l *serverListing) imageName(o noun.Object) any {
	id := l.imageID(o)
	text, _ := id.(string)
	if text == bootedFromVolume || text == "" {
		return id
	}
	if l.images != nil {
		if name, ok := l.images(text); ok {
			return name
		}
	}
	if l.c.Compat() {
		return ""
	}
	return text
}

func (l *serverListing) flavorName(o noun.Object) any {
	flavor := o.Object("flavor")
	if name, ok := flavor.Lookup("original_name"); ok {
		return name
	}
	id := flavor.Text("id")
	if l.flavors != nil {
		if name, ok := l.flavors(id); ok {
			return name
		}
	}
	if l.c.Compat() && (!l.noLookup || l.long) {
		return ""
	}
	return id
}

func groupNames(v any) any {
	list, _ := v.([]any)
	names := make([]any, 0, len(list))
	for _, g := range list {
		if inner, ok := g.(render.Ordered); ok {
			names = append(names, noun.Object(inner).Get("name"))
		}
	}
	return render.ListCell(names)
}

// withHostStatus adds the column, when the service tells it of any server.
func (l *serverListing) withHostStatus(objects iter.Seq2[noun.Object, error], columns []noun.Column) (iter.Seq2[noun.Object, error], []noun.Column, error) {
	var all []noun.Object
	told := false
	for o, err := range objects {
		if err != nil {
			return nil, nil, err
		}
		_, has := o.Lookup("host_status")
		told = told || has
		all = append(all, o)
	}
	if told {
		at := len(columns)
		for at > 0 && columns[at-1].OptIn {
			at--
		}
		columns = append(columns[:at:at], append([]noun.Column{l.plain("Host Status", "host_status")}, columns[at:]...)...)
	}
	return func(yield func(noun.Object, error) bool) {
		for _, o := range all {
			if !yield(o, nil) {
				return
			}
		}
	}, columns, nil
}

// lookup names things of a service by their ids, all at once or one by one. It
// begins at once, beside the listing; what cannot be looked up has no name.
func (l *serverListing) lookup(ctx context.Context, service, kind string, few bool) func(string) (string, bool) {
	if few || l.c.Is("name-lookup-one-by-one") {
		known := map[string]string{}
		return func(id string) (string, bool) {
			name, asked := known[id]
			if !asked {
				key := ""
				if service == "compute" {
					key = "flavor"
				}
				name = l.name(ctx, service, "/"+kind+"/", key, url.PathEscape(id))
				known[id] = name
			}
			return name, name != ""
		}
	}
	all := sync.OnceValue(func() map[string]string { return l.allNames(ctx, service, kind) })
	go all()
	return func(id string) (string, bool) {
		name, ok := all()[id]
		return name, ok
	}
}

func (l *serverListing) allNames(ctx context.Context, service, kind string) map[string]string {
	names := map[string]string{}
	s, q := l.Service, url.Values{"is_public": {"None"}}
	if service != "compute" {
		var err error
		if s, err = l.c.Cloud.Service(ctx, service); err != nil {
			return names
		}
		q = url.Values{"limit": {"1000"}}
	}
	for o, err := range noun.Pages(ctx, s, "/"+kind, q, kind, 0, noun.Wanted{"id": nil, "name": nil}) {
		if err != nil {
			break
		}
		names[o.Text("id")] = o.Text("name")
	}
	return names
}
