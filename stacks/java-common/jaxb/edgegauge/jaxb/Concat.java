package edgegauge.jaxb;

import java.util.List;
import javax.xml.bind.annotation.XmlAccessType;
import javax.xml.bind.annotation.XmlAccessorType;
import javax.xml.bind.annotation.XmlRootElement;
import javax.xml.bind.annotation.XmlType;

@XmlRootElement(name = "concat")
@XmlAccessorType(XmlAccessType.FIELD)
@XmlType(name = "", propOrder = {"s"})
public class Concat implements Bean {
  public List<String> s;
}
