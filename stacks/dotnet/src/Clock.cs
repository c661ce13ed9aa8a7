using System;
using System.Runtime.InteropServices;

/// <summary>The monotonic clock and sleep of the kernel, in ns; Mono's own have steps of 100 ns and 1 ms.</summary>
static class Clock {
  struct Timespec { public IntPtr Seconds, Nanoseconds; }
  [DllImport("libc", EntryPoint = "clock_gettime")] static extern int Get(int clock, out Timespec t);
  [DllImport("libc", EntryPoint = "nanosleep")] static extern int Rest(ref Timespec t, IntPtr left);

  static long Read(int clock) {
    Timespec t;
    Get(clock, out t);
    return (long)t.Seconds * 1000000000 + (long)t.Nanoseconds;
  }

  public static long Now { get { return Read(1); } }       // CLOCK_MONOTONIC
  public static long Cpu { get { return Read(2); } }       // CLOCK_PROCESS_CPUTIME_ID

  public static void SleepUntil(long instant) {
    for (long left; (left = instant - Now) > 0; ) {
      var t = new Timespec { Seconds = (IntPtr)(left / 1000000000), Nanoseconds = (IntPtr)(left % 1000000000) };
      Rest(ref t, IntPtr.Zero);
    }
  }
}
