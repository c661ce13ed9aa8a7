package report

import "io"

// HTML is written by the next commit.
func (r *Report) HTML(w io.Writer) error { return r.Text(w) }
