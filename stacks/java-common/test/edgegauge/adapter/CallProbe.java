package edgegauge.adapter;

/**
 * A client that has the right answer at once, and whose closing takes the ns of option closing, or fails if that is below 0. It fails where another thread
 * asks than before, and with option fatal ends every thread but the program's. Used by program_test.go.
 */
final class CallProbe extends Stack {
  private CallProbe() {
    super(new String[] {"none"}, new String[] {"none"}, new String[] {"none"});
  }

  public static void main(String[] args) {
    Program.main("call", new CallProbe());
  }

  @Override public String version() {
    return "1";
  }

  @Override public String serve(Setup setup, Services services, ServerLog log) {
    throw new UnsupportedOperationException("it has no server");
  }

  @Override public Caller call(Setup setup) throws Exception {
    Message answer = Services.expected(setup.service, setup.request());
    long closing = setup.option("closing", 0);
    boolean fatal = setup.option("fatal", 0) != 0;
    Thread first = Thread.currentThread();
    return new Caller() {
      private Thread mine;

      @Override public Message call(Message request, Exchange x) throws Exception {
        if (fatal && Thread.currentThread() != first) throw new OutOfMemoryError("no heap is left");
        if (mine != null && mine != Thread.currentThread()) throw new java.io.IOException("another thread asks");
        mine = Thread.currentThread();
        return answer;
      }

      @Override public void finished() throws Exception {
        if (closing < 0) throw new java.io.IOException("it does not close");
        Thread.sleep(closing / 1_000_000);
      }
    };
  }
}
