package schema

import (
	"errors"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/om/keyword"
)

func pool() keyword.Section {
	const (
		arrays = "freenas symmetrix dorado hoc pure truenas"
		nas    = "freenas truenas"
	)
	t := newTypes()
	t.add("", func(k unread) {
		k.text("type", "Where the volumes of the pool are made.").Default("directory").
			OneOf("directory", "dorado", "drbd", "freenas", "hoc", "loop", "pure", "rados", "share", "shm", "symmetrix", "truenas", "vg", "virtual", "zpool")
		k.text("mkblk_opt", "Options of the command that makes the device.").Check(keyword.Words)
		k.text("mkfs_opt", "Options of the command that makes the file system.").Check(keyword.Words).Eg("-O largefile")
		k.text("mnt_opt", "Options of the mount of the volumes.").Check(words).Scopable().Eg("noatime")
		k.when("status_schedule", "When the state of the pool is refreshed.").Eg("@10m")
	})
	t.add("directory", func(k unread) {
		k.text("path", "The directory the volumes are made under.").Check(keyword.File).Default("{var}/pool/directory")
	})
	t.add("loop", func(k unread) {
		k.text("path", "The directory of the files the volumes are.").Check(keyword.File).Default("{var}/pool/loop")
	})
	t.add("share", func(k unread) {
		k.text("path", "The directory, shared by the nodes, the volumes are made under.").Check(keyword.File).Default("{var}/pool/share")
	})
	t.add("shm", func(unread) {})
	t.add("vg", func(k unread) { k.text("name", "The volume group.").Check(keyword.Word).Required().Eg("vg1") })
	t.add("zpool", func(k unread) { k.text("name", "The zpool.").Check(keyword.Word).Required().Eg("zp1") })
	t.add("drbd", drbdPool)
	t.add("virtual", func(k unread) {
		k.text("template", "The volume object that each volume is a copy of.").Check(keyword.Vol).Required().Eg("templates/vol/mirror")
		k.list("capabilities", "What the volumes are able to.").Check(keyword.Each(keyword.Word)).Default("file roo rwo rox rwx")
		k.list("volume_env", "What the consumer must say, as keyword:env-name pairs.").Check(keyword.Each(pair)).Eg("container#1.name:container1_name")
		k.list("optional_volume_env", "What the consumer may say, as keyword:env-name pairs.").Check(keyword.Each(pair)).Eg("container#1.name:container1_name")
	})
	t.add("rados", func(k unread) {
		k.text("rbd_pool", "The ceph pool.").Check(keyword.Word).Required().Eg("pool1")
		k.text("rbd_namespace", "The ceph namespace.").Check(keyword.Word).Eg("ns1")
	})
	t.add(arrays, func(k unread) {
		k.text("array", "The array section of the storage array.").Check(keyword.Word).Required().Scopable().Eg("array1")
	})
	t.add("freenas dorado hoc pure truenas", func(k unread) {
		k.text("diskgroup", "The disk group of the array.").Required().Eg("diskgroup1")
	})
	t.add("freenas dorado hoc symmetrix drbd loop vg pure truenas rados", func(k unread) {
		k.text("fs_type", "The file system made on the volumes.").Check(keyword.Word).Default("xfs")
	})
	t.add(nas, nasPool)
	t.add("dorado hoc", func(k unread) {
		k.flag("compression", "Compress the volumes.").Default("false")
		k.flag("dedup", "Deduplicate the volumes.").Default("false")
	})
	t.add("dorado", func(k unread) {
		k.text("hypermetrodomain", "The domain that mirrors the volumes of two arrays.").Eg("HyperMetroDomain_000")
	})
	t.add("hoc pure", func(k unread) { k.text("label_prefix", "What the names of the volumes begin with on the array.") })
	t.add("hoc", func(k unread) {
		k.text("pool_id", "The pool of the array the volumes are made in.")
		k.text("volume_id_range_from", "The first volume identifier to use.")
		k.text("volume_id_range_to", "The last volume identifier to use.")
		k.text("vsm_id", "The virtual array the volumes are made in.")
	})
	t.add("pure", func(k unread) {
		k.flag("delete_now", "Eradicate deleted volumes at once.").Default("true")
		k.text("pod", "The pod the volumes are made in.")
		k.text("volumegroup", "The volume group the volumes are made in.")
	})
	t.add("symmetrix", func(k unread) {
		k.text("srp", "The resource pool of the array.").Required().Eg("SRP_1")
		k.text("slo", "The service level of the volumes.").Eg("Optimized")
		k.flag("srdf", "Replicate the volumes to another array.").Default("false")
		k.text("rdfg", "The replication group of the volumes.")
	})
	return t.section("pool", "A place to make volumes in.", "directory")
}

func drbdPool(k unread) {
	k.text("addr", "The address of the node on the replication network.").Check(keyword.Host).Scopable().DefaultText("That of the node name.").Eg("192.0.2.1")
	k.text("vg", "The volume group of the replicated volumes.").Check(keyword.Word).Eg("vg1")
	k.text("zpool", "The zpool of the replicated volumes.").Check(keyword.Word).Eg("zp1")
	k.text("path", "The directory of the files the replicated volumes are.").Check(keyword.File).Eg("/srv/drbd")
	k.text("template", "The key of system/cfg/drbd the configuration is made from.").Eg("live-migration")
	k.number("max_peers", "How many peers the metadata has room for.").AtLeast(1).Eg("8").Provisioning()
}

func nasPool(k unread) {
	k.bytes("blocksize", "The block size of the volumes.").Default("512")
	k.text("compression", "How the volumes are compressed.").Default("inherit").
		OneOf("gzip-1", "gzip-2", "gzip-3", "gzip-4", "gzip-5", "gzip-6", "gzip-7", "gzip-8", "gzip-9", "inherit", "lz4", "lzjb", "none", "zle")
	k.text("dedup", "Whether the volumes are deduplicated.").Check(keyword.Word).Default("off")
	k.flag("insecure_tpc", "Let initiators copy from one volume to another without authorization.").Default("false")
	k.flag("sparse", "Allocate the space of the volumes when it is written.").Default("false")
}

// words is the rule of options separated by commas.
func words(text string) error {
	if len(strings.Fields(text)) > 1 {
		return errors.New("not one word: separate the options with commas, as noatime,nodev")
	}
	return nil
}

// pair is the rule of what gives a keyword a name in an environment.
func pair(word string) error {
	key, name, ok := strings.Cut(word, ":")
	if !ok || key == "" || name == "" {
		return errors.New("not a pair: write it as container#1.name:container1_name")
	}
	return nil
}
