
other
Lw