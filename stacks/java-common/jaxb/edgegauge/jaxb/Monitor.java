package edgegauge.jaxb;

import java.math.BigDecimal;
import javax.xml.bind.annotation.XmlAccessType;
import javax.xml.bind.annotation.XmlAccessorType;
import javax.xml.bind.annotation.XmlElement;
import javax.xml.bind.annotation.XmlRootElement;
import javax.xml.bind.annotation.XmlType;

@XmlRootElement(name = "monitor")
@XmlAccessorType(XmlAccessType.FIELD)
@XmlType(name = "", propOrder = {"id", "status", "sequence", "temperature", "pressure", "running", "message"})
public class Monitor implements Bean {
  @XmlElement(required = true)
  public String id;
  @XmlElement(required = true)
  public Long status;
  @XmlElement(required = true)
  public Long sequence;
  @XmlElement(required = true)
  public BigDecimal temperature;
  @XmlElement(required = true)
  public BigDecimal pressure;
  @XmlElement(required = true)
  public Boolean running;
  @XmlElement(required = true)
  public String message;
}
