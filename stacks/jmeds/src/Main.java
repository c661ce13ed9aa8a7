import edgegauge.adapter.Program;
import edgegauge.jmeds.Jmeds;

/** The jmeds stack's program. */
public final class Main {
  public static void main(String[] args) {
    Program.main(args.length > 0 ? args[0] : "", new Jmeds());
  }
}
