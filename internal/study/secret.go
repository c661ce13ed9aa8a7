package study

import "edgegauge.example/edgegauge/internal/printable"

// Secret is a setting as the study file has it, passwords included, where the
// study has it redacted. It is for whoever opens the plug, and for nobody else.
func (s Study) Secret(setting string) string {
	if secret, ok := s.secrets[setting]; ok {
		return secret
	}
	return setting
}

// redact hides the passwords in a study as read.
func (r *reader) redact(s *Study, n *node) {
	if shown := printable.Redact(n.text); shown != n.text {
		if other, ok := s.secrets[shown]; ok && other != n.text {
			r.fail(n.pos, "the plug "+shown+" has two passwords", "write the same everywhere")
		}
		if s.secrets == nil {
			s.secrets = map[string]string{}
		}
		s.secrets[shown], n.text = n.text, shown
		s.Passwords = append(s.Passwords, Word{shown, n.pos})
	}
	for _, item := range n.items {
		r.redact(s, item)
	}
	for i := range n.pairs {
		n.pairs[i].key.Text = printable.Redact(n.pairs[i].key.Text)
		r.redact(s, n.pairs[i].value)
	}
}
