package edgegauge.jaxb;

import javax.xml.bind.annotation.XmlAccessType;
import javax.xml.bind.annotation.XmlAccessorType;
import javax.xml.bind.annotation.XmlRootElement;
import javax.xml.bind.annotation.XmlType;

@XmlRootElement(name = "temperature")
@XmlAccessorType(XmlAccessType.FIELD)
@XmlType(name = "")
public class Temperature implements Bean {}
