package schema

import "github.com/holdfast-ops/holdfast/internal/om/keyword"

func array() keyword.Section {
	t := newTypes()
	t.add("", func(k unread) {
		k.text("type", "The model of the array.").Required().
			OneOf("centera", "dorado", "emcvnx", "eva", "freenas", "hds", "hoc", "hp3par", "ibmds", "ibmsvc", "netapp", "nexenta", "pure", "symmetrix", "truenas", "vioserver", "xtremio")
		k.when("schedule", "When the inventory of the array is collected.").Eg(nightly)
	})
	t.add("dorado freenas hoc pure truenas xtremio", func(k unread) {
		k.text("api", "The address of the interface of the array.").Check(keyword.URL).Required().Eg("https://array.example.com/api")
	})
	t.add("pure hoc freenas truenas", func(k unread) {
		k.flag("insecure", "Do not verify the certificate of the array.").Default("false")
	})
	t.add("dorado hoc hds symmetrix xtremio", func(k unread) { k.text("name", "The name of the array.").Eg("a09") })
	t.add("centera eva hds ibmds ibmsvc freenas netapp nexenta vioserver xtremio dorado hoc truenas pure", func(k unread) {
		k.text("username", "The user of the array.").Required()
	})
	t.add("emcvnx hp3par symmetrix", func(k unread) { k.text("username", "The user of the array.") })
	t.add("centera eva hds freenas nexenta xtremio truenas dorado hoc", func(k unread) {
		k.text("password", "The sec object that holds the password of the user.").Check(keyword.Secret).Required().Eg("system/sec/array1")
	})
	t.add("emcvnx symmetrix", func(k unread) {
		k.text("password", "The sec object that holds the password of the user.").Check(keyword.Secret).Eg("system/sec/array1")
	})
	t.add("netapp ibmsvc vioserver", func(k unread) {
		k.text("key", "The ssh key that opens the array.").Check(keyword.File).Required().Eg("/path/to/key")
	})
	t.add("centera netapp", func(k unread) { k.text("server", "The server to ask.").Check(keyword.Host).Required().Eg("centera1") })
	t.add("freenas dorado hoc truenas", func(k unread) {
		k.span("timeout", "How long a request may take.").Default("120s")
	})
	consoleArrays(t)
	proxyArrays(t)
	return t.section("array", "A storage array, that pools make volumes in.", "")
}

func consoleArrays(t types) {
	t.add("centera", func(k unread) {
		k.text("java_bin", "The java command.").Check(keyword.Words).Required().Eg("/opt/java/bin/java")
		k.text("jcass_dir", "The directory of the JCASScript library.").Check(keyword.File).Required().Eg("/opt/centera/lib")
	})
	t.add("emcvnx", func(k unread) {
		k.text("method", "How the agent authenticates.").Default("secfile").OneOf("credentials", "secfile")
		k.text("scope", "The scope of the user.").Check(keyword.Word).Default("0")
		k.text("spa", "The name of the first storage processor.").Check(keyword.Host).Required().Eg("array1-a")
		k.text("spb", "The name of the second storage processor.").Check(keyword.Host).Required().Eg("array1-b")
	})
	t.add("eva", func(k unread) {
		k.text("manager", "The command view server.").Check(keyword.Host).Required().Eg("evamanager.example.com")
		k.text("bin", "The sssu command.").Check(keyword.Words).Eg("/opt/sssu/bin/sssu")
	})
	t.add("hds", func(k unread) {
		k.text("url", "The address of the device manager.").Check(keyword.URL).Required().Eg("https://hdm.example.com/")
		k.text("bin", "The directory of the command line interface.").Check(keyword.File).Eg("/opt/hds/bin")
		k.text("jre_path", "The directory of java.").Check(keyword.File).Eg("/opt/java")
	})
	t.add("ibmds", func(k unread) {
		k.text("hmc1", "The first management console.").Check(keyword.Host).Required().Eg("hmc1.example.com")
		k.text("hmc2", "The second management console.").Check(keyword.Host).Required().Eg("hmc2.example.com")
	})
	t.add("nexenta", func(k unread) { k.number("port", "The port of the interface.").Between(1, maxPort).Default("2000") })
	t.add("symmetrix", func(k unread) {
		k.text("symcli_connect", "The symapi server to use, as named in the netcnfg file.").Check(keyword.Word).Eg("MY_SYMAPI_SERVER")
		k.text("symcli_path", "The directory of the command line interface.").Check(keyword.File).Default("/usr/symcli")
	})
}

func proxyArrays(t types) {
	t.add("hp3par", func(k unread) {
		k.text("method", "How the agent reaches the array.").Default("ssh").OneOf("cli", "proxy", "ssh")
		k.text("manager", "The server to ask.").Check(keyword.Host).DefaultText("The index of the section.").Eg("mymanager.example.com")
		k.text("cli", "The command of the cli method.").Check(keyword.Words).Default("3parcli").Eg("/path/to/3parcli")
		k.text("pwf", "The password file of the cli method.").Check(keyword.File).Eg("/path/to/pwf")
		k.text("key", "The ssh key of the ssh method.").Check(keyword.File).Eg("/path/to/key")
	})
	t.add("hoc", func(k unread) {
		k.text("model", "The model of the array.").Required().
			OneOf("HUS VM", "VSP F1500", "VSP F350", "VSP F370", "VSP F400", "VSP F600", "VSP F700", "VSP F800", "VSP F900",
				"VSP G1000", "VSP G1500", "VSP G200", "VSP G350", "VSP G370", "VSP G400", "VSP G600", "VSP G700", "VSP G800", "VSP G900",
				"Virtual Storage Platform")
		k.text("wwid_prefix", "What the identifiers of the volumes begin with.")
		k.span("delay", "How long to wait before a request is sent again.").Default("10s")
		k.number("retry", "How many times a request is sent again.").AtLeast(0).Default("30")
		k.text("http_proxy", "The proxy of the http requests.").Check(keyword.Server).Eg("http://proxy.example.com:8080")
		k.text("https_proxy", "The proxy of the https requests.").Check(keyword.Server).Eg("http://proxy.example.com:8080")
	})
	t.add("pure", func(k unread) {
		k.text("client_id", "The identifier of the API client.").Required()
		k.text("key_id", "The identifier of the key of the API client.").Required()
		k.text("issuer", "The issuer of the API client.").Required()
		k.text("secret", "The sec object that holds the private key of the API client.").Check(keyword.Secret).Required().Eg("system/sec/array1")
	})
}

func fabricSwitch() keyword.Section {
	t := newTypes()
	t.add("", func(k unread) {
		k.text("type", "The make of the switch.").Required().OneOf("brocade")
		k.when("schedule", "When the inventory of the switch is collected.").Eg(nightly)
	})
	t.add("brocade", func(k unread) {
		k.text("name", "The name of the switch.").Eg("sansw1.example.com")
		k.text("method", "How the agent reaches the switch.").Default("ssh").OneOf("ssh", "telnet")
		k.text("username", "The user of the switch.").Required().Eg("admin")
		k.text("password", "The sec object that holds the password of the user.").Check(keyword.Secret).Eg("system/sec/switch1")
		k.text("key", "The ssh key that opens the switch.").Check(keyword.File).Eg("/path/to/key")
	})
	return t.section("switch", "A switch of the storage network.", "")
}
