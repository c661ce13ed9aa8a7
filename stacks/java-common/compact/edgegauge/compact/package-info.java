/**
 * The compact forms of XML of contract/README.md as readers and writers of StAX, so that a framework puts them in the place of its own: EXI by EXIficient,
 * Fast Infoset, gzip. Needs Java 11, exificient and FastInfoset.
 */
package edgegauge.compact;
