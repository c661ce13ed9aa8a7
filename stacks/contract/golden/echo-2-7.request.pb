
Lw