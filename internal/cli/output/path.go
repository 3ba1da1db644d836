package output

import (
	"encoding/json"
	"errors"
	"strings"
)

// anyStep stands for every field or item.
const anyStep = "*"

// splitPath cuts a path such as .data.nodes[0]."a.b".* into its steps. A
// leading "$" or "." is allowed.
func splitPath(path string) ([]string, error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(path, "$"), ".")
	var steps []string
	for rest != "" {
		step, after, err := cutStep(rest)
		if err != nil {
			return nil, err
		}
		if step == "" {
			return nil, errors.New("empty step")
		}
		steps = append(steps, step)
		rest = after
		if next, ok := strings.CutPrefix(rest, "."); ok {
			if next == "" {
				return nil, errors.New("ends with a dot")
			}
			rest = next
		}
	}
	return steps, nil
}

func cutStep(path string) (step, rest string, err error) {
	switch path[0] {
	case '[':
		step, rest, ok := strings.Cut(path[1:], "]")
		if !ok {
			return "", "", errors.New("bracket left open")
		}
		return strings.Trim(step, `"'`), rest, nil
	case '"':
		decoder := json.NewDecoder(strings.NewReader(path))
		if err := decoder.Decode(&step); err != nil {
			return "", "", errors.New("quote left open")
		}
		return step, path[decoder.InputOffset():], nil
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		end = len(path)
	}
	return path[:end], path[end:], nil
}

// find returns what the path leads to, as cells; nothing when it leads nowhere.
func (n node) find(steps []string) []string {
	if len(steps) == 0 {
		return []string{n.plain()}
	}
	step, rest := steps[0], steps[1:]
	if step == anyStep {
		var found []string
		for _, item := range n.items {
			found = append(found, item.find(rest)...)
		}
		return found
	}
	child, ok := n.child(step)
	if !ok {
		return nil
	}
	return child.find(rest)
}
