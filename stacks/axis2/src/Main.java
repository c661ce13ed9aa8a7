import edgegauge.adapter.Program;
import edgegauge.axis2.Axis2;

/** The axis2 stack's program. */
public final class Main {
  public static void main(String[] args) {
    Program.main(args.length > 0 ? args[0] : "", new Axis2());
  }
}
