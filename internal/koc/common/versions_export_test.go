package common

// Grouped puts endpoints, each region/interface/service, in the order in which
// their versions are shown.
func Grouped(ends [][3]string) [][3]string {
	list := make([]endpoint, len(ends))
	for i, e := range ends {
		list[i] = endpoint{region: e[0], face: e[1], service: e[2]}
	}
	var groups [][3]string
	for _, e := range grouped(list) {
		groups = append(groups, [3]string{e.region, e.face, e.service})
	}
	return groups
}
