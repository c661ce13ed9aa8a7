/**
 * What every Java stack shares: the adapter protocol (../PROTOCOL.md), the clock and the records, the services, their messages and their checks.
 * It knows no framework: a stack extends {@link edgegauge.adapter.Stack} and fills {@link edgegauge.adapter.Exchange} at its framework's own hooks.
 * Java 8, no dependencies, all times in nanoseconds of System.nanoTime.
 */
package edgegauge.adapter;
