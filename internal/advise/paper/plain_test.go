package paper

import "testing"

// Each claim has a plain sentence, and no sentence is left of a claim that is no more.
func TestEachClaimHasAPlainSentence(t *testing.T) {
	plain, err := plainWords()
	if err != nil {
		t.Fatal(err)
	}
	sentences := 0
	for _, of := range plain {
		sentences += len(of)
	}
	for _, name := range Names() {
		p, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range p.Claims {
			if sentences--; c.Plain == "" {
				t.Errorf("%s: published/plain.yaml has no sentence for the claim %s", name, c.ID)
			}
		}
	}
	if sentences > 0 {
		t.Errorf("published/plain.yaml has %d sentences of claims that no paper makes", sentences)
	}
}
