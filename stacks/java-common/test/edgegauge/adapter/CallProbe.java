package edgegauge.adapter;

/** A client that has the right answer at once, and whose closing takes the ns of option closing, or fails if that is below 0. Used by program_test.go. */
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
    return new Caller() {
      @Override public Message call(Message request, Exchange x) {
        return answer;
      }

      @Override public void finished() throws Exception {
        if (closing < 0) throw new java.io.IOException("it does not close");
        Thread.sleep(closing / 1_000_000);
      }
    };
  }
}
