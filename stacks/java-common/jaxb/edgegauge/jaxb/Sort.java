package edgegauge.jaxb;

import java.util.List;
import javax.xml.bind.annotation.XmlAccessType;
import javax.xml.bind.annotation.XmlAccessorType;
import javax.xml.bind.annotation.XmlRootElement;
import javax.xml.bind.annotation.XmlType;

@XmlRootElement(name = "sort")
@XmlAccessorType(XmlAccessType.FIELD)
@XmlType(name = "", propOrder = {"n"})
public class Sort implements Bean {
  public List<Long> n;
}
