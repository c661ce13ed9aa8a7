package edgegauge.jaxb;

/** A message of the contract. */
public interface Bean {}
