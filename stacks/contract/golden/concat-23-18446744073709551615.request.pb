
ptugnbskozlnudef
xlpvlgwa

lkxesbngqm

bvryvrkmeb
ypqanmezbdsm
zlschjgohdkmg
hxpfjbpbstq

bjnlhmejwj
wopeeedklcrxbyu
uqxynoajrab
whynzkqwdpxxemb
dnlnzclptlbgb
gxxembgfyjoswh

abdeqgegkx
mijqwnzk
	keqcainui

vckwpdulcs
vosxxfinoevxiw
xszufneyheqtnfe
	cvxrgteph
	puztpxnlb
wzwhxneyzwqukjil

kojczoyxal