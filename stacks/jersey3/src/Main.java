import edgegauge.adapter.Program;
import edgegauge.jersey.Jersey3;

/** The jersey3 stack's program. */
public final class Main {
  public static void main(String[] args) {
    Program.main(args.length > 0 ? args[0] : "", new Jersey3());
  }
}
