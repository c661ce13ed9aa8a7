// Package kernel is what the Linux kernel gives to any program: threads and
// where they run, network namespaces, the accounts of processes, locks that end
// with their owner, serial lines, and the numbers in /sys. It knows nothing of
// devices, stacks or trials, and no other room of this program.
package kernel
