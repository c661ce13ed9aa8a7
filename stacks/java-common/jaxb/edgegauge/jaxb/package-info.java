/**
 * The messages of contract/services.xsd as beans of JAXB, annotated by hand as its users do, and their conversion from and to plain values. The fields are
 * public, so that JSON binders find them too, and never primitive, so that a field that is not there is seen.
 * An xs:int is a Long, so that one out of range is seen: JAXB makes an Integer of its lower bits. Stacks of Jakarta replace javax by jakarta.
 */
@XmlSchema(namespace = "urn:edgegauge:services:1", elementFormDefault = XmlNsForm.QUALIFIED)
package edgegauge.jaxb;

import javax.xml.bind.annotation.XmlNsForm;
import javax.xml.bind.annotation.XmlSchema;
