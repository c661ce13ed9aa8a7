
other
×