package paper

import (
	"io/fs"

	"go.yaml.in/yaml/v4"

	"edgegauge.example/edgegauge/published"
)

// plainWords are the claims in plain sentences, by paper and claim.
func plainWords() (map[string]map[string]string, error) {
	text, err := fs.ReadFile(published.Files, "plain.yaml")
	if err != nil {
		return nil, err
	}
	var all map[string]map[string]string
	err = yaml.Load(text, &all)
	return all, err
}
