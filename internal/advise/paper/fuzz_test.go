package paper

import "testing"

// A file of claims is read or refused; no claim has two forms.
func FuzzParseClaims(f *testing.F) {
	f.Add([]byte("a-2012:\n- id: quicker\n  says: REST is quicker\n"))
	f.Add([]byte("a: [{lower: {response: rtt}}]"))
	f.Add([]byte("a: 1"))
	f.Fuzz(func(t *testing.T, text []byte) {
		all, err := ParseClaims(text)
		if err != nil {
			return
		}
		for _, claims := range all {
			for _, c := range claims {
				n := 0
				for _, form := range forms {
					if form.is(c) {
						n++
					}
				}
				if n != 1 {
					t.Fatalf("claim %q has %d forms", c.ID, n)
				}
			}
		}
	})
}
