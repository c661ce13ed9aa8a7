import edgegauge.adapter.Program;
import edgegauge.microemu.MicroEmu;
import edgegauge.microemu.Known;

/** The microemu stack's program; "known RATE" runs programs of known length instead. */
public final class Main {
  public static void main(String[] args) {
    if (args.length == 2 && args[0].equals("known")) {
      Known.main(Long.parseLong(args[1]));
      return;
    }
    Program.main(args.length > 0 ? args[0] : "", new MicroEmu());
  }
}
