package edgegauge.compact;

import java.util.function.BooleanSupplier;
import javax.xml.stream.XMLStreamConstants;
import javax.xml.stream.XMLStreamException;
import javax.xml.stream.XMLStreamReader;
import javax.xml.stream.util.StreamReaderDelegate;

/**
 * Refuses what no message needs: document types, entities, deep nesting, values that together are over the limit (a string table repeats a long one for a
 * few bits), and bytes behind the document. What a decoder throws that its input should not make it throw becomes a refusal.
 */
final class Guard extends StreamReaderDelegate {
  static final int DEPTH = 64;

  private final BooleanSupplier rest; // whether anything stands behind the document
  private long left;
  private int depth;

  Guard(XMLStreamReader reader, long limit, BooleanSupplier rest) {
    super(reader);
    left = limit;
    this.rest = rest;
  }

  @Override public int next() throws XMLStreamException {
    try {
      int event = super.next();
      check(event);
      return event;
    } catch (RuntimeException | OutOfMemoryError e) {
      throw Form.refused(e);
    }
  }

  private void check(int event) throws XMLStreamException {
    switch (event) {
      case XMLStreamConstants.START_ELEMENT:
        if (getLocalName() == null) throw new XMLStreamException("an element has no name"); // Fast Infoset's parser lets it pass
        if (++depth > DEPTH) throw new XMLStreamException("elements are nested deeper than " + DEPTH);
        break;
      case XMLStreamConstants.END_ELEMENT:
        depth--;
        break;
      case XMLStreamConstants.CHARACTERS:
      case XMLStreamConstants.CDATA:
        if ((left -= getTextLength()) < 0) throw new XMLStreamException("message is over the limit when it is unpacked");
        break;
      case XMLStreamConstants.DTD:
      case XMLStreamConstants.ENTITY_REFERENCE:
        throw new XMLStreamException("message has a document type or an entity");
      case XMLStreamConstants.END_DOCUMENT:
        if (rest.getAsBoolean()) throw new XMLStreamException("something stands behind the document");
        break;
      default: // comments and processing instructions pass
    }
  }

  @Override public int nextTag() throws XMLStreamException {
    int event;
    do {
      event = next();
      if (event == XMLStreamConstants.CHARACTERS && !getText().trim().isEmpty()) throw new XMLStreamException("there is text between elements");
    } while (event != XMLStreamConstants.START_ELEMENT && event != XMLStreamConstants.END_ELEMENT && event != XMLStreamConstants.END_DOCUMENT);
    return event;
  }

  @Override public String getElementText() throws XMLStreamException {
    String text = null;
    StringBuilder more = null;
    for (int event = next(); event != XMLStreamConstants.END_ELEMENT; event = next()) {
      switch (event) {
        case XMLStreamConstants.CHARACTERS:
        case XMLStreamConstants.CDATA:
        case XMLStreamConstants.SPACE:
          if (text == null) {
            text = getText();
          } else {
            if (more == null) more = new StringBuilder(text);
            more.append(getText());
          }
          break;
        case XMLStreamConstants.COMMENT:
        case XMLStreamConstants.PROCESSING_INSTRUCTION:
          break;
        default:
          throw new XMLStreamException("there is an element where text should be");
      }
    }
    return more != null ? more.toString() : text == null ? "" : text;
  }
}
