package inventory

// ParseAll reads a text as each of the files of the system.
func ParseAll(text string) {
	parseCPUs(text)
	parseMemory(text)
	osRelease(text)
	parseAccounts(text)
	parseDpkg(text)
	parseAPK(text)
	parseRPM(text)
	parseMounts(text)
	parseMDStat(text)
	parseBond("b", text)
	parseUsage(text)
	sectors(text)
	className(text)
	diskType(text)
}

// ReadWithin reads a tracked file.
var ReadWithin = readWithin
