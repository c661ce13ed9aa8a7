import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.objectweb.asm.ClassReader;
import org.objectweb.asm.ClassWriter;
import org.objectweb.asm.Opcodes;
import org.objectweb.asm.tree.AbstractInsnNode;
import org.objectweb.asm.tree.ClassNode;
import org.objectweb.asm.tree.InsnList;
import org.objectweb.asm.tree.JumpInsnNode;
import org.objectweb.asm.tree.LabelNode;
import org.objectweb.asm.tree.LdcInsnNode;
import org.objectweb.asm.tree.LookupSwitchInsnNode;
import org.objectweb.asm.tree.MethodInsnNode;
import org.objectweb.asm.tree.MethodNode;
import org.objectweb.asm.tree.TableSwitchInsnNode;
import org.objectweb.asm.tree.TryCatchBlockNode;

/** Makes every basic block of the classes in the folders given say how many bytecodes it has, before it runs them. */
public final class Rewrite {
  public static void main(String[] folders) throws IOException {
    for (String folder : folders) {
      List<Path> classes;
      try (Stream<Path> all = Files.walk(Path.of(folder))) {
        classes = all.filter(p -> p.toString().endsWith(".class")).collect(Collectors.toList());
      }
      for (Path p : classes) Files.write(p, rewrite(Files.readAllBytes(p)));
    }
  }

  private static byte[] rewrite(byte[] b) {
    ClassNode c = new ClassNode();
    new ClassReader(b).accept(c, 0);
    for (MethodNode m : c.methods) {
      if (m.instructions.size() > 0) count(m);
    }
    ClassWriter w = new ClassWriter(0);
    c.accept(w);
    return w.toByteArray();
  }

  private static void count(MethodNode m) {
    blocks(m).forEach((first, length) -> {
      InsnList l = new InsnList();
      l.add(new LdcInsnNode(length));
      l.add(new MethodInsnNode(Opcodes.INVOKESTATIC, "edgegauge/microemu/Tick", "t", "(I)V", false));
      m.instructions.insertBefore(first, l);
    });
    m.maxStack++; // one int more; stack frames stay valid
  }

  /** The first instruction of each basic block, and how many instructions it has. */
  private static Map<AbstractInsnNode, Integer> blocks(MethodNode m) {
    Set<LabelNode> targets = targets(m);
    Map<AbstractInsnNode, Integer> blocks = new LinkedHashMap<>();
    AbstractInsnNode first = null;
    for (AbstractInsnNode i : m.instructions) {
      if (i instanceof LabelNode && targets.contains(i)) first = null;
      if (i.getOpcode() < 0) continue; // a label, a line number, a frame
      if (first == null) first = i;
      blocks.merge(first, 1, Integer::sum);
      if (ends(i)) first = null;
    }
    return blocks;
  }

  private static boolean ends(AbstractInsnNode i) {
    int op = i.getOpcode();
    return i instanceof JumpInsnNode || i instanceof LookupSwitchInsnNode || i instanceof TableSwitchInsnNode
        || op >= Opcodes.IRETURN && op <= Opcodes.RETURN || op == Opcodes.ATHROW;
  }

  private static Set<LabelNode> targets(MethodNode m) {
    Set<LabelNode> targets = new HashSet<>();
    for (TryCatchBlockNode t : m.tryCatchBlocks) targets.add(t.handler);
    for (AbstractInsnNode i : m.instructions) {
      if (i instanceof JumpInsnNode) targets.add(((JumpInsnNode) i).label);
      if (i instanceof LookupSwitchInsnNode) {
        targets.addAll(((LookupSwitchInsnNode) i).labels);
        targets.add(((LookupSwitchInsnNode) i).dflt);
      }
      if (i instanceof TableSwitchInsnNode) {
        targets.addAll(((TableSwitchInsnNode) i).labels);
        targets.add(((TableSwitchInsnNode) i).dflt);
      }
    }
    return targets;
  }
}
