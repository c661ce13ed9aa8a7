package edgegauge.jaxb;

import java.math.BigDecimal;
import java.util.List;
import javax.xml.bind.annotation.XmlAccessType;
import javax.xml.bind.annotation.XmlAccessorType;
import javax.xml.bind.annotation.XmlRootElement;
import javax.xml.bind.annotation.XmlType;

@XmlRootElement(name = "sum")
@XmlAccessorType(XmlAccessType.FIELD)
@XmlType(name = "", propOrder = {"x"})
public class Sum implements Bean {
  public List<BigDecimal> x;
}
