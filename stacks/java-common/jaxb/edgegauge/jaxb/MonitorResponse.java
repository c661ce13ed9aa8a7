package edgegauge.jaxb;

import javax.xml.bind.annotation.XmlAccessType;
import javax.xml.bind.annotation.XmlAccessorType;
import javax.xml.bind.annotation.XmlElement;
import javax.xml.bind.annotation.XmlRootElement;
import javax.xml.bind.annotation.XmlType;

@XmlRootElement(name = "monitorResponse")
@XmlAccessorType(XmlAccessType.FIELD)
@XmlType(name = "", propOrder = {"accepted", "sequence"})
public class MonitorResponse implements Bean {
  @XmlElement(required = true)
  public Boolean accepted;
  @XmlElement(required = true)
  public Long sequence;
}
