//go:build !race

package fleet

const fewer = 1
