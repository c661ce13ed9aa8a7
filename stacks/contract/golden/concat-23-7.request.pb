
wwvkteuhjzi
guwfzjejpll
ruvvbucgizbmf
dfnkogunocegycg
	zyhosuiiy
tnzpawhedib
wirjejwkpon
zgfbcxgyqsxjxg
uqabqammultx

krjctqvwxq
mzdxgcmqpuqrydnm
	bdyowlecp
pksdinzw
chaxhjvjuzx
lerogeolqcakj
	kvzofztsl
ctvqfstu
mknoiloaqqgyd
ibetwjxpkctquhxk

sqybjipibd
lqbjhseqerkhzxu
tmwdgiuonfx
vnirkxld