package render

// List is a list as upstream's ListColumn shows it: sorted, joined by ", ".
func ListCell(v any) Cell { return Cell{Machine: v} }
