package schema

import (
	"errors"
	"strconv"

	"github.com/holdfast-ops/holdfast/internal/om/event"
	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

// The sections of the services around the agent.

func hook() keyword.Section {
	return numbered("hook", "A command run when something happens.", func(t *keyword.Table) {
		k := unread{t}
		k.list("events", "The kinds of events that run the command, or all.").Check(keyword.Each(eventKind)).Eg("instance_status_updated")
		k.argv("command", "The command. It reads the event on its standard input.").Eg("/usr/local/bin/on-event")
	})
}

// eventKind is the rule of the kinds of events, as they are written.
func eventKind(word string) error {
	if _, ok := event.KindNamed(word); !ok {
		return errors.New("no event: use all, or kinds such as NodeFrozen, which om node events prints")
	}
	return nil
}

func console() keyword.Section {
	return untyped("console", "The server that shares the terminal sessions of containers.", func(t *keyword.Table) {
		k := unread{t}
		k.text("server", "The address of the server.").Check(keyword.Server).Eg("https://console.example.com")
		k.flag("insecure", "Do not verify the certificate of the server.")
		k.number("max_seats", "How many people a session may gather.").AtLeast(1).Default("1")
		k.span("max_greet_timeout", "How long a session waits for its first guest.").Default("20s")
	})
}

func syslog() keyword.Section {
	return untyped("syslog", "Where the logs are copied to.", func(t *keyword.Table) {
		k := unread{t}
		k.text("host", "The server. The local one by default.").Check(keyword.Host).DefaultText("The local server, or localhost when the port is set.")
		k.text("port", "The port of the server.").Check(port).Default("514")
		k.text("facility", "The facility of the messages.").Default("daemon").
			Check(keyword.Among("auth", "authpriv", "cron", "daemon", "ftp", "kern", "local0", "local1", "local2", "local3", "local4", "local5", "local6", "local7",
				"lpr", "mail", "news", "syslog", "user", "uucp"))
		k.text("level", "The level from which messages are copied.").Default("info").OneOf("critical", "debug", "error", "info", "warning")
	})
}

// port is the rule of ports that are read as text.
func port(text string) error {
	if n, err := strconv.Atoi(text); text != "" && (err != nil || n < 1 || n > maxPort) {
		return errors.New("not a port: write a number from 1 to 65535")
	}
	return nil
}

func collector() keyword.Section {
	return untyped("collector", "The collector the nodes report to.", func(t *keyword.Table) {
		k := unread{t}
		k.text("url", "The address of the collector.").Check(keyword.Server).Eg("https://collector.example.com")
		k.text("feeder", "The address that takes data in, when it is not that of the collector.").Check(keyword.Server).Eg("https://feeder.example.com")
		k.text("server", "The address that answers, when it is not that of the collector.").Check(keyword.Server).Eg("https://server.example.com")
	})
}

func cni() keyword.Section {
	return untyped("cni", "The container network plugins.", func(t *keyword.Table) {
		k := unread{t}
		k.text("plugins", "The directory of the plugins.").Check(keyword.File).Default("/usr/lib/cni")
		k.text("config", "The directory of the network configurations.").Check(keyword.File).Default("{var}/cni/net.d")
	})
}

const nightly = "~00:00-06:00"

func asset() keyword.Section {
	return scheduled("asset", "The inventory of the node.", nightly)
}

func checks() keyword.Section {
	return scheduled("checks", "The health checks of the node.", nightly)
}

func disks() keyword.Section {
	return scheduled("disks", "The inventory of the disks.", nightly)
}

func packages() keyword.Section {
	return scheduled("packages", "The inventory of the packages.", nightly)
}

func patches() keyword.Section {
	return scheduled("patches", "The inventory of the patches.", nightly)
}

func sysreport() keyword.Section {
	return scheduled("sysreport", "The collection of configuration files.", nightly)
}

func stats() keyword.Section {
	return scheduled("stats", "The collection of performance figures.", "")
}

func scheduled(name, doc, when string) keyword.Section {
	return untyped(name, doc, func(t *keyword.Table) {
		unread{t}.when("schedule", "When it runs.").Default(when).Eg(nightly)
	})
}

func compliance() keyword.Section {
	return untyped("compliance", "The compliance modules of the node.", func(t *keyword.Table) {
		k := unread{t}
		k.when("schedule", "When the modules run.").Default("02:00-06:00")
		k.flag("auto_update", "Fetch the modules before they run. Whoever controls the repository then runs commands as root here.").Default("false")
	})
}

func backup() keyword.Section {
	return numbered("backup", "A backup server to collect the inventory of.", func(t *keyword.Table) {
		unread{t}.when("schedule", "When its inventory is collected.").Eg(nightly)
	})
}
