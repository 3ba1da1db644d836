package watch

// view is how the lines of a screen are shared out, from the top: the status
// line, the pinned head, a window onto the body, the marker of the cut.
type view struct {
	status bool
	pinned bool // else the head scrolls with the body
	window int  // lines of the body that fit
	total  int  // lines that scroll
	marker bool
}

// fit shares out the lines of a screen. A small one does without what matters
// less: first the marker, then the pinned head, at last the status line.
func fit(height int, status bool, head, body int) view {
	v := view{status: status && height > 1, pinned: true, total: body}
	room := height
	if v.status {
		room--
	}
	if room < head+2 && room < head+body {
		v.pinned = false
		v.total += head
	} else {
		room -= head
	}
	v.window = max(room, 0)
	if v.total > v.window && v.window > 1 {
		v.marker = true
		v.window--
	}
	return v
}

// scroll is the place in the body: the first line of the window.
type scroll struct{ top int }

// move does what a key asks, within the view.
func (s *scroll) move(k key, v view) {
	switch k { //nolint:exhaustive // the other keys do not move
	case keyDown:
		s.top++
	case keyUp:
		s.top--
	case keyPageDown:
		s.top += v.window
	case keyPageUp:
		s.top -= v.window
	case keyTop:
		s.top = 0
	case keyBottom:
		s.top = v.total - v.window
	}
	s.clamp(v)
}

// clamp keeps the window on the body: both may have changed.
func (s *scroll) clamp(v view) {
	s.top = max(0, min(s.top, v.total-v.window))
}
