package qemu

import (
	"context"
	"errors"
)

func (u Builder) java(ctx context.Context, im *Image, from *apt, work string) error {
	return errors.New("not yet")
}
