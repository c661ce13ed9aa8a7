
L