package container

// ReadInspect reads the description of a container, and the status it comes to.
func ReadInspect(b []byte) (id string, up, down bool, err error) {
	f, err := parseInspect(b)
	if err != nil {
		return "", false, false, err
	}
	return f.ID, f.phase() == runs, f.phase() == ended, nil
}
