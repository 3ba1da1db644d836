package log

import "encoding/json"

// Facts prints what a line holds beside its message: " dur=12ms reason=late".
func Facts(raw json.RawMessage) string { return facts(raw) }
