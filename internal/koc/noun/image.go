package noun

import (
	"slices"
	"strings"

	"github.com/holdfast-ops/holdfast/internal/koc/render"
)

// ImageFields are what is shown of an image, also of one that a server was made into. Attributes that every image has come by name;
// all others are its properties.
func ImageFields(o Object, human bool) []render.Field {
	var fields []render.Field
	properties := render.Ordered{}
	tags := any([]any{})
	for _, f := range o {
		switch f.Name {
		case "status", "name", "container_format", "created_at", "size", "disk_format", "updated_at", "visibility", "min_disk", "protected",
			"id", "file", "checksum", "owner", "virtual_size", "min_ram", "schema":
			if f.Value == nil {
				continue
			}
			if f.Name == "size" && human {
				f.Value = render.Size(f.Value)
			}
			fields = append(fields, f)
		case "tags":
			tags = f.Value
		case "self", "location":
		default:
			if f.Value != nil {
				properties = append(properties, f)
			}
		}
	}
	fields = append(fields, render.Field{Name: "tags", Value: render.ListCell(tags)})
	slices.SortStableFunc(properties, func(a, b render.Field) int { return imageRank(a.Name) - imageRank(b.Name) })
	if len(properties) > 0 {
		fields = append(fields, render.Field{Name: "properties", Value: render.DictCell(properties)})
	}
	slices.SortFunc(fields, func(a, b render.Field) int { return strings.Compare(a.Name, b.Name) })
	return fields
}

// imageRank is the place of an attribute among the properties of an image: upstream
// puts those it knows around those it does not.
func imageRank(name string) int {
	known := []string{
		"os_hidden", "os_hash_algo", "os_hash_value", "", "store", "locations", "direct_url", "url", "metadata", "architecture", "hypervisor_type",
		"instance_type_rxtx_factor", "instance_uuid", "img_config_drive", "kernel_id", "os_distro", "os_version", "os_secure_boot", "os_shutdown_timeout",
		"ramdisk_id", "vm_mode", "hw_cpu_sockets", "hw_cpu_cores", "hw_cpu_threads", "hw_disk_bus", "hw_cpu_policy", "hw_cpu_thread_policy", "hw_rng_model",
		"hw_machine_type", "hw_scsi_model", "hw_serial_port_count", "hw_video_model", "hw_video_ram", "hw_watchdog_action", "os_command_line", "hw_vif_model",
		"hw_vif_multiqueue_enabled", "hw_boot_menu", "vmware_adaptertype", "vmware_ostype", "auto_disk_config", "os_type", "os_admin_user",
		"hw_qemu_guest_agent", "os_require_quiesce",
	}
	if at := slices.Index(known, name); at >= 0 {
		return at
	}
	return slices.Index(known, "")
}
