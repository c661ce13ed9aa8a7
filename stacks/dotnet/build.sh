#!/bin/sh
# Makes build/dotnet.exe: the proxy that wsdl makes from the contract, with a Security header and the timing extension on every method, and src.
set -eu
cd "$(dirname "$0")"
mkdir -p build
(cd ../contract && wsdl services.wsdl -out:"$OLDPWD/build/Proxy.cs") >build/wsdl.log 2>&1 || { cat build/wsdl.log >&2; exit 1; }
S=System.Web.Services.Protocols
sed "s/\[$S.SoapDocumentMethodAttribute/[Timed, $S.SoapHeaderAttribute(\"security\", Direction=$S.SoapHeaderDirection.InOut)]&/" build/Proxy.cs >build/Secured.cs
grep -c '\[Timed, ' build/Secured.cs | grep -qx 8 || { echo "build.sh: wsdl made another proxy than expected: not 8 methods" >&2; exit 1; }
mcs -optimize+ -nowarn:1591 -r:System.Web.Services -r:System.Web.Extensions -out:build/dotnet.exe build/Secured.cs src/*.cs
