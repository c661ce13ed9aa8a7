package main

import "testing"

// What a program said last comes with the file and the line of its error, which interpreters print above it.
func TestSaidLast(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one\n": "one", "one\ntwo\n\n": "two",
		"  File \"/s/own/serve.py\", line 12\n    def f(x)\n            ^\nSyntaxError: expected ':'\n": "SyntaxError: " +
			"expected ':' (/s/own/serve.py, line 12)",
		"Traceback (most recent call last):\n  File \"/s/own/serve.py\", line 80, in <module>\n    main()\n" +
			"  File \"/s/own/serve.py\", line 33, in main\n    x = y\nNameError: name 'y' is not defined\n": "NameError: " +
			"name 'y' is not defined (/s/own/serve.py, line 33)",
		"/s/own/serve.js:7\nfunction (\n         ^\n\nSyntaxError: Function statements require a function name\n" +
			"    at wrapSafe (node:internal/modules/cjs/loader:1378:20)\n\nNode.js v20.19.2\n": "SyntaxError: Function " +
			"statements require a function name (/s/own/serve.js, line 7)",
		"  File \"/s/own/serve.py\", line 80, in main\nNameError: name 'y' is not defined\nserving\n": "serving",
		"Node.js v20.19.2": "Node.js v20.19.2",
		"panic: at /x:12":  "panic: at /x:12",
	} {
		if got := saidLast(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
