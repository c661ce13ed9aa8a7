
other

ысЗ<zS